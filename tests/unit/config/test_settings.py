"""Where settings come from, and how mistakes in them are told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gateway.config import BY_ENV, ROWS, Settings, SettingsError, only_in
from gateway.needs import CHANNEL_NEEDS
from gateway.values import ApiToken, Secret, is_loopback

LONG = "k" * 32


def load(tmp_path: Path, toml: str = "", dotenv: str | None = None, **environ: str) -> Settings:
    (tmp_path / "gateway.toml").write_text(toml)
    if dotenv is not None:
        (tmp_path / ".env").write_text(dotenv)
    return Settings.load(
        environ, tmp_path / "gateway.toml", None if dotenv is None else tmp_path / ".env"
    )


def problems(tmp_path: Path, toml: str = "", dotenv: str | None = None, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, toml, dotenv, **environ)
    return str(caught.value)


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
        ("GATEWAY_TRUSTED_PROXIES", "proxy.example"),
        ("GATEWAY_PUBLIC_URL", "june.example"),
        ("GATEWAY_PUBLIC_URL", "https://june.example?x=1"),
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


# -- secrets ---------------------------------------------------------------------------------------
SECRET = "s3cret-value-that-must-not-show"


def test_no_secret_is_ever_shown(tmp_path: Path) -> None:
    urls = {
        "DATABASE_URL": f"postgresql://june:{SECRET}@db.example/june",
        "REDIS_URL": f"redis://:{SECRET}@one:1,redis://u:{SECRET}@two",
        "EMAIL_IMAP_URL": f"imaps://june%40shop.example:{SECRET}@mail.example:993/INBOX",
        "EMAIL_SMTP_URL": f"smtps://u:{SECRET}@mail.example",
    }
    secrets = {row.env: SECRET + "x" * 32 for row in ROWS if row.mask == "all"}
    toml = f'[tokens.ci]\ntoken = "{SECRET}-of-ci"\nrights = ["read"]\n'
    settings = load(tmp_path, toml, **urls, **secrets)
    text = repr(settings) + str(settings.api_token) + str(list(settings.shown()))
    assert SECRET not in text
    assert settings.secrets.count(SECRET) == 5
    assert all(SECRET in one for one in settings.secrets)
    shown = {name: value for name, value, _ in settings.shown()}
    assert shown["DATABASE_URL"] == "postgresql://june:***@db.example/june"
    assert shown["GATEWAY_API_TOKEN"] == "***"


def test_a_token_that_could_be_guessed_is_refused_with_the_way_to_a_better_one(
    tmp_path: Path,
) -> None:
    for given in ({"GATEWAY_API_TOKEN": "fifteen-letters"}, {}):
        toml = "" if given else 'api_token = "fifteen-letters"'
        told = problems(tmp_path, toml, **given)
        assert told.startswith("GATEWAY_API_TOKEN (")
        assert "must have at least 16 characters (openssl rand -hex 24)" in told
        assert "fifteen-letters" not in told


def test_a_refused_secret_is_not_repeated(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        f'[tokens.ci]\ntoken = "{SECRET} with a space"\nrights = ["read"]\n',
        GATEWAY_API_TOKEN=f"{SECRET} with a space",
        DATABASE_URL=f"mysql://u:{SECRET}@h/d",
    )
    assert len(told.splitlines()) == 3
    assert SECRET not in told


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}/2@h/d",
        f"postgresql://u:{SECRET}#2@h/d",
        f"postgresql://u:{SECRET}?2@h/d",
        f"postgresql://u:{SECRET}\u21002@h/d",
        f"postgresql://u:{SECRET}@[h/d",
    ],
)
def test_a_url_that_its_password_breaks_is_refused_without_it(tmp_path: Path, url: str) -> None:
    told = problems(tmp_path, DATABASE_URL=url)
    assert SECRET not in told
    assert "%2F" in told


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://u:a@{SECRET}@h/d", "postgresql://u:***@h/d"),
        (f"postgresql://u:a,{SECRET}@h/d", "postgresql://u:***@h/d"),
        (f"postgresql://h/d?user=u&password={SECRET}", "postgresql://h/d?user=u&password=***"),
        (f"postgresql://h/d?sslpassword={SECRET}&x=1", "postgresql://h/d?sslpassword=***&x=1"),
    ],
)
def test_a_password_is_masked_wherever_a_url_carries_it(
    tmp_path: Path, url: str, shown: str
) -> None:
    settings = load(tmp_path, DATABASE_URL=url)
    assert {name: value for name, value, _ in settings.shown()}["DATABASE_URL"] == shown


def test_a_password_in_a_query_is_cut_out_of_the_log(tmp_path: Path) -> None:
    settings = load(tmp_path, DATABASE_URL=f"postgresql://h/d?user=u&password={SECRET}")
    assert settings.secrets == (SECRET,)


def test_an_empty_secret_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("\n")
    empty = f"file:{tmp_path / 'key'}"
    assert "a file that is empty" in problems(tmp_path, GATEWAY_API_TOKEN=empty)
    assert "a file that is empty" in problems(
        tmp_path, f'[tokens.ci]\ntoken = "{empty}"\nrights = ["read"]\n'
    )
    assert load(tmp_path, 'api_token = ""\nport = ""\n').api_tokens == ()
    assert not Secret("").matches("")


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{SECRET}\n")
    settings = load(tmp_path, GATEWAY_API_TOKEN=f"file:{tmp_path / 'key'}")
    assert settings.api_token == Secret(SECRET)
    assert "can't be read" in problems(tmp_path, GATEWAY_API_TOKEN="file:/nowhere/at/all")


# -- tokens ----------------------------------------------------------------------------------------
TOKENS = """
[tokens.helpdesk]
token = "env:HELPDESK_TOKEN"
rights = ["chat", "resume"]
identities = ["slack:T1", "email:ops@shop.example"]

[tokens.monitor]
token = "0123456789abcdef"
rights = ["read"]
"""


def test_named_tokens(tmp_path: Path) -> None:
    settings = load(tmp_path, TOKENS, HELPDESK_TOKEN="h" * 16, GATEWAY_API_TOKEN="the-full-token-0")
    full, helpdesk, monitor = settings.api_tokens
    assert (full.name, helpdesk.name, monitor.name) == ("full", "helpdesk", "monitor")
    assert full.may("admin")
    assert full.may("chat")
    assert full.vouches_for("anyone:at:all")
    assert helpdesk.may("resume")
    assert not helpdesk.may("read")
    assert not helpdesk.may("admin")
    assert monitor.identities == ()
    assert not monitor.vouches_for("slack:T1:U1")


@pytest.mark.parametrize(
    ("identity", "held"),
    [
        ("slack:T1:U1", True),
        ("slack:T1", True),
        ("slack:T12:U1", False),
        ("slack:T", False),
        ("email:ops@shop.example", True),
        ("email:ops@shop.example.evil", False),
        ("", False),
    ],
)
def test_a_prefix_ends_where_a_part_ends(identity: str, held: bool) -> None:
    token = ApiToken("t", Secret("x"), identities=("slack:T1", "email:ops@shop.example"))
    assert token.vouches_for(identity) is held
    ends = ApiToken("t", Secret("x"), identities=("slack:T1:",))
    assert ends.vouches_for("slack:T1:U1")
    assert not ends.vouches_for("slack:T12:U1")


def test_mistakes_in_tokens(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        '[tokens.full]\ntoken = "0123456789abcdef"\nrights = ["chat"]\n'
        '[tokens.a]\ntoken = "short"\nrights = ["caht"]\nright = 1\n'
        '[tokens.b]\ntoken = "env:NOT_THERE"\nrights = []\nidentities = [""]\n'
        '[tokens.c]\nrights = ["read"]\n',
    )
    for part in (
        "tokens.full: a name is",
        "tokens.a: unknown right 'caht'. did you mean chat?",
        "tokens.a: unknown key 'right'. did you mean rights?",
        "tokens.a: token must have at least 16 characters",
        "tokens.b: rights must list one or more of admin, chat, read, resume",
        "tokens.b: identities must be",
        "tokens.b: token names the variable NOT_THERE, which isn't set",
        "tokens.c: token must have at least 16 characters",
    ):
        assert part in told
    assert "tokens" in problems(tmp_path, "tokens = 3")
    same = '[tokens.a]\ntoken = "0123456789abcdef"\nrights = ["chat"]\n'
    assert "share one secret" in problems(tmp_path, same, GATEWAY_API_TOKEN="0123456789abcdef")


def test_serve_wants_a_token(tmp_path: Path) -> None:
    assert load(tmp_path, GATEWAY_API_TOKEN="t" * 16).serve_problems() == []
    assert load(tmp_path, TOKENS, HELPDESK_TOKEN="h" * 16).serve_problems() == []
    (told,) = load(tmp_path).serve_problems()
    assert told.startswith("GATEWAY_API_TOKEN: ")
    (told,) = load(tmp_path, GATEWAY_HOST="192.0.2.1").serve_problems()
    assert "192.0.2.1" in told


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
