"""The setting that names a mailbox."""

from __future__ import annotations

import pytest

from channels.email.ways.account import Account, account
from gateway.engine.errors import ConfigError
from gateway.values import Secret

GOOD = (
    ("imaps://ada:pw@imap.example", "imap.example", 993, "ada", "pw", "INBOX"),
    (
        "imaps://a%40b.example:p%2Fw@imap.example:1993/Support",
        "imap.example",
        1993,
        "a@b.example",
        "p/w",
        "Support",
    ),
    ("imap://ada:pw@127.0.0.1/", "127.0.0.1", 143, "ada", "pw", "INBOX"),
    ("imaps://ada:pw@[::1]:993/A%20b/C", "::1", 993, "ada", "pw", "A b/C"),
)
BAD = (
    ("imap://ada:hidden@imap.example", "loopback"),
    ("https://ada:hidden@imap.example", "imaps://"),
    ("imaps://imap.example", "a user"),
    ("imaps://ada:hidden@", "a host"),
    ("imaps://ada:hid/den@imap.example", "URL"),
    ("imaps://ada:hidden@imap.example:x", "URL"),
    ("imaps://ada%0d%0a:hidden@imap.example", "printable"),
    ("imaps://ada:hidden%C3%BC@imap.example", "printable"),
    ("imaps://ada:hidden@imap.example/a%0d", "control"),
)


def test_what_it_may_say() -> None:
    for url, host, port, user, password, folder in GOOD:
        assert account(url) == Account(
            host=host,
            port=port,
            tls=url.startswith("imaps"),
            user=user,
            password=Secret(password),
            folder=folder,
        ), url


def test_what_it_may_not_and_no_password_is_repeated() -> None:
    for url, words in BAD:
        with pytest.raises(ConfigError, match=words) as told:
            account(url)
        assert "hid" not in str(told.value), url
