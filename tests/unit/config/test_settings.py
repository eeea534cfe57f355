"""Where settings come from, and how mistakes in them are told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gateway.config import BY_ENV, Settings, SettingsError, only_in
from gateway.needs import CHANNEL_NEEDS
from gateway.values import is_loopback
from tests.unit.config.given import load, problems

LONG = "k" * 32


def test_defaults_need_nothing(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path / "missing.toml", tmp_path / "missing.env")
    assert settings == Settings()
    assert settings.database_url == "sqlite:///.gateway/gateway.db"
    assert (settings.host, settings.port, settings.chat_path) == ("127.0.0.1", 8787, "/message")
    assert settings.slack_api_url == "https://slack.com/api"
    assert set(settings.origins) == set()
    assert {origin for _, _, origin in settings.shown()} == {"default"}


def test_environment_beats_dotenv_beats_file_beats_default(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        'port = 1\nhost = "10.0.0.1"\nmodel = "from-file"\nturn_idle = 60\n',
        "PORT=2\nGATEWAY_HOST=10.0.0.2\n",
        PORT="3",
    )
    assert (settings.port, settings.host, settings.model) == (3, "10.0.0.2", "from-file")
    assert settings.turn_idle == 60
    assert settings.origins == {
        "port": "environment",
        "host": ".env",
        "model": "gateway.toml:3",
        "turn_idle": "gateway.toml:4",
    }


def test_dotenv_is_read_only_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=2\n")
    assert Settings.load({}, tmp_path / "gateway.toml").port == 8787


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    assert load(tmp_path, "port = 9", PORT="", GATEWAY_API_TOKEN="").port == 9


def test_every_problem_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        'hots = "::"\nport = "many"\n',
        "GATEWAY_MAX_SESSION=5\n",
        GATEWAY_TURN_IDEL="5m",
        REDIS_URL="http://here",
        GATEWAY_MAX_ATTEMPTS="0",
    )
    told = told.replace(" or valkey:// or valkeys://", "")
    assert told.splitlines() == [
        "gateway.toml:1: unknown key 'hots'. did you mean host?",
        "PORT (gateway.toml:2): must be a whole number from 0 to 65535 (is 'many')",
        "GATEWAY_MAX_SESSION (.env): no such setting. did you mean GATEWAY_MAX_SESSIONS?",
        "GATEWAY_TURN_IDEL (environment): no such setting. did you mean GATEWAY_TURN_IDLE?",
        "REDIS_URL (environment): must be a URL that begins with redis:// or rediss://",
        "GATEWAY_MAX_ATTEMPTS (environment): must be a whole number from 1 (is '0')",
    ]


def test_other_peoples_variables_are_left_alone(tmp_path: Path) -> None:
    assert load(tmp_path, SLACK_SOMETHING="x", PATH="/bin").environ["SLACK_SOMETHING"] == "x"


def test_serve_does_without_a_dotenv_that_cant_be_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GATEWAY_ONLY_HERE=1\n")
    assert only_in(tmp_path / ".env") == ("GATEWAY_ONLY_HERE",)
    (tmp_path / ".env").write_bytes(b"GATEWAY_ONLY_HERE=\xff\xfe\n")
    assert only_in(tmp_path / ".env") == ()


def test_a_broken_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    assert "gateway.toml" in problems(tmp_path, "port = = 3", GATEWAY_MAX_ATTEMPTS="x")
    (tmp_path / "gateway.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"gateway\.toml"):
        Settings.load({}, tmp_path / "gateway.toml")
    (tmp_path / ".env").write_bytes(b"GATEWAY_PORT=\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"\.env: .*fix: make it a readable file in UTF-8"):
        Settings.load({}, None, tmp_path / ".env")


@pytest.mark.parametrize("name", ["gateway.toml", ".env"])
def test_what_stands_in_the_files_place_is_told(tmp_path: Path, name: str) -> None:
    """Mounting a file that isn't there makes a folder, and its tokens would be missing unheard."""
    files = (tmp_path / "gateway.toml", tmp_path / ".env")
    (tmp_path / name).mkdir()
    with pytest.raises(SettingsError, match=f"{name}: .*Is a directory"):
        Settings.load({}, *files)
    (tmp_path / name).rmdir()
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(SettingsError, match=f"{name}: .*No such file"):
        Settings.load({}, *files)


@pytest.mark.parametrize(
    ("name", "raw", "field", "value"),
    [
        ("GATEWAY_TURN_IDLE", "90", "turn_idle", 90),
        ("GATEWAY_TURN_IDLE", "1.5m", "turn_idle", 90),
        ("GATEWAY_TURN_CEILING", "2h", "turn_ceiling", 7200),
        ("GATEWAY_MAX_SESSIONS", "Infinity", "max_sessions", math.inf),
        ("GATEWAY_MAX_SESSIONS", "1", "max_sessions", 1),
        ("PORT", "0", "port", 0),
        ("GATEWAY_TRUSTED_PROXIES", "10.0.0.0/8, ::1", "trusted_proxies", ("10.0.0.0/8", "::1/128")),
        ("EMAIL_VOUCHING_DOMAINS", "a.example, b.example", "email_vouching_domains",
         ("a.example", "b.example")),
        ("REDIS_URL", "redis://a:1,rediss://b", "redis_url", "redis://a:1,rediss://b"),
        ("GATEWAY_PUBLIC_URL", "https://june.example/", "public_url", "https://june.example"),
        ("EMAIL_SMTP_URL", "smtp://127.0.0.1:25", "email_smtp_url", "smtp://127.0.0.1:25"),
        ("DATABASE_URL", "memory://", "database_url", "memory://"),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, name: str, raw: str, field: str, value: object) -> None:
    assert getattr(load(tmp_path, **{name: raw}), field) == value


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "٣"),
        ("GATEWAY_MAX_SESSIONS", "0"),
        ("GATEWAY_MAX_SESSIONS", "1.5"),
        ("GATEWAY_MAX_SESSIONS", "nan"),
        ("GATEWAY_TURN_IDLE", "0"),
        ("GATEWAY_TURN_IDLE", "soon"),
        ("GATEWAY_CHAT_PATH", "message"),
        ("GATEWAY_CHAT_PATH", "/healthz"),
        ("GATEWAY_CHAT_PATH", "/agents/x"),
        ("GATEWAY_CHAT_PATH", "/{any}"),
        ("GATEWAY_CHAT_PATH", "/.."),
        ("GATEWAY_CHAT_PATH", "/a/./status"),
        ("GATEWAY_TRUSTED_PROXIES", "proxy.example"),
        ("GATEWAY_PUBLIC_URL", "june.example"),
        ("GATEWAY_PUBLIC_URL", "https://june.example?x=1"),
        ("GATEWAY_PUBLIC_URL", "https://user:word@june.example"),
        ("GATEWAY_PUBLIC_URL", "https://june.example/\r\nBcc: everybody"),
        ("GATEWAY_PUBLIC_URL", 'https://june.example/"><script>'),
        ("ANTHROPIC_BASE_URL", "https://proxy.example/a b"),
        ("DATABASE_URL", "postgresql://here/db\n"),
        ("GATEWAY_STATE", "~nobody-of-this-name/june"),
        ("GATEWAY_API_TOKEN", "file:~nobody-of-this-name/token"),
        ("GATEWAY_API_TOKEN", "env:GATEWAY_API_TOKEN"),
        ("DATABASE_URL", "mysql://here/db"),
        ("DATABASE_URL", "postgresql:///db"),
        ("EMAIL_SMTP_URL", "smtp://mail.example:25"),
        ("EMAIL_IMAP_URL", "imap://mail.example"),
        ("EMAIL_LISTEN", "smtp://0.0.0.0:25"),
        ("REDIS_URL", "redis://host:port"),
        ("GATEWAY_API_TOKEN", "a token with spaces"),
        ("GATEWAY_API_TOKEN", "too-short"),
        ("GATEWAY_API_TOKEN", "a-t\u00f6ken-that-is-long"),
        ("GATEWAY_SECRET_KEYS", "short"),
    ],
)
def test_values_that_are_refused(tmp_path: Path, name: str, raw: str) -> None:
    assert problems(tmp_path, **{name: raw}).startswith(f"{name} (environment): ")


def test_settings_that_contradict_each_other(tmp_path: Path) -> None:
    told = problems(tmp_path, GATEWAY_TURN_IDLE="2h", GATEWAY_TURN_CEILING="1h")
    assert "idle window (7200 s) is above the ceiling (3600 s)" in told
    assert "fix: lower GATEWAY_TURN_IDLE" in told


def test_limits_carry_the_settings(tmp_path: Path) -> None:
    limits = load(tmp_path, GATEWAY_TURN_IDLE="1m", GATEWAY_MAX_ATTEMPTS="7").limits
    assert (limits.turn_idle, limits.max_attempts, limits.turn_ceiling) == (60, 7, 3600)


# -- channels --------------------------------------------------------------------------------------
def test_a_channel_says_what_turns_it_on(tmp_path: Path) -> None:
    assert load(tmp_path).missing("slack") == (
        "SLACK_BOT_TOKEN or SLACK_CLIENT_ID",
        "SLACK_SIGNING_SECRET or SLACK_APP_TOKEN",
    )
    on = load(tmp_path, SLACK_BOT_TOKEN="xoxb-1", SLACK_SIGNING_SECRET="s")
    assert on.missing("slack") == ()
    for groups in CHANNEL_NEEDS.values():
        assert {name for group in groups for name in group} <= set(BY_ENV)


def test_a_channel_reads_the_file_too(tmp_path: Path) -> None:
    settings = load(tmp_path, 'crisp_website_id = "w1"\nport = 5', CRISP_KEY="k", PORT="6")
    assert settings.environ == {"CRISP_WEBSITE_ID": "w1", "CRISP_KEY": "k", "PORT": "6"}


def test_a_channel_gets_secrets_and_not_where_they_stand(tmp_path: Path) -> None:
    kept = tmp_path / "secret"
    kept.write_text("from-a-file\n")
    toml = f'crisp_key = "file:{kept}"\nslack_bot_token = "file:{kept}"'
    settings = load(tmp_path, toml, SLACK_SIGNING_SECRET="env:OTHER", OTHER="o", CRISP_KEY="k")
    assert settings.environ["SLACK_BOT_TOKEN"] == "from-a-file"
    assert settings.environ["SLACK_SIGNING_SECRET"] == "o"
    assert settings.environ["CRISP_KEY"] == "k", "the environment goes before the file"
    assert settings.missing("echo") == (), "a channel of the author's own needs nothing of ours"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("LOCALHOST.", True),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_what_counts_as_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
