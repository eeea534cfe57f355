"""Secrets and tokens: where they may stand, and that nobody sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import ROWS
from gateway.values import ApiToken, Secret
from tests.unit.config.given import load, problems

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


def test_where_a_secret_stands_is_never_the_secret(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    table = '[tokens.ci]\ntoken = "env:CI_TOKEN"\nrights = ["read"]\n'
    (token,) = load(tmp_path, table, CI_TOKEN=f"file:{tmp_path / 'key'}").api_tokens
    assert token.secret == Secret(SECRET)
    told = problems(tmp_path, table, CI_TOKEN="env:ANOTHER_ONE_OF_THEM", ANOTHER_ONE_OF_THEM=SECRET)
    assert "names the variable CI_TOKEN, which isn't set or names another" in told


def test_a_path_from_the_file_can_be_one(tmp_path: Path) -> None:
    assert "can't be a path" in problems(tmp_path, 'state = "a\\u0000b"')


def test_a_login_where_none_belongs_is_masked_too(tmp_path: Path) -> None:
    settings = load(tmp_path, SLACK_API_URL=f"https://u:{SECRET}@slack.example/api")
    shown = {name: value for name, value, _ in settings.shown()}
    assert shown["SLACK_API_URL"] == "https://u:***@slack.example/api"
    assert SECRET not in problems(tmp_path, CRISP_API_URL=f"https://u:{SECRET}@a.example?x=1")


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
