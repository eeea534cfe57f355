"""What the channel judges mail by, as its operator set it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from channels.email import email_channel
from channels.email.identity.attest import attest
from channels.email.mail import Way
from channels.email.reading.automated import classify
from gateway.engine.errors import ConfigError
from tests.unit.email.identity.mails import BORDER, NOW, PASS, SENT, handed, mail, words

ENV = {
    "EMAIL_ADDRESS": "support@shop.example",
    "EMAIL_LISTEN": "lmtp://127.0.0.1:2400",
    "EMAIL_SMTP_URL": "smtp://127.0.0.1:2500",
    "EMAIL_BORDER_HOST": "mx.shop.example",
    "EMAIL_AUTHSERV_ID": "mx.shop.example",
    "GATEWAY_SECRET_KEYS": "a-key-for-tests-only-and-nothing-else",
}
LISTENS = {
    "EMAIL_LISTEN_BORDER_HOST": "in.shop.example",
    "EMAIL_LISTEN_AUTHSERV_ID": "in.shop.example",
}
MAILBOX = [PASS, BORDER, *SENT]
HANDED = [PASS.replace("mx.", "in."), BORDER.replace("by mx.", "by in."), *SENT]
RELAY = (
    "Received: from far.example by relay.example with ESMTP id 2; Mon, 01 Jun 2026 12:00:00 +0000"
)


@pytest.mark.parametrize(
    ("way", "lines", "more", "found"),
    [
        ("imap", MAILBOX, LISTENS, "domain"),
        ("lmtp", HANDED, LISTENS, "domain"),
        ("smtp", HANDED, LISTENS, "domain"),
        # The line of another way's border, which whoever hands it over by this one may have written.
        ("imap", HANDED, LISTENS, "border_missing"),
        ("lmtp", MAILBOX, LISTENS, "border_missing"),
        ("lmtp", [RELAY, *HANDED], LISTENS, "border_missing"),
        ("lmtp", MAILBOX, {}, "border_not_set"),
        ("webhook", MAILBOX, LISTENS, "border_not_set"),
        ("webhook", HANDED, LISTENS, "border_not_set"),
    ],
)
def test_each_way_has_a_border_of_its_own_or_none(
    way: Way, lines: Sequence[str], more: dict[str, str], found: str
) -> None:
    desk = email_channel({**ENV, **more}).desk
    known = attest(mail(lines), handed(way=way), desk.believes(way), NOW)
    assert found in {known.level, *words(known)}


@pytest.mark.parametrize(("module", "package"), [("dns", "dnspython"), ("dkim", "dkimpy")])
def test_signatures_that_nothing_here_can_check_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=f"signatures=True can't be kept: {package} isn't") as why:
        email_channel(ENV, signatures=True)
    assert why.value.fix is not None
    assert f"pip install {package}" in why.value.fix
    assert email_channel(ENV).desk.signed is None


def test_what_a_list_of_ours_hands_on_is_no_lists_mail() -> None:
    sent = mail([*MAILBOX, "List-Id: Support <Support.shop.example>", "Precedence: list"])
    for lists, word in (((), "precedence"), (["SUPPORT.shop.example"], None)):
        noise = classify(sent, handed(), email_channel(ENV, lists=lists).desk.own)
        assert (noise and noise.rule) == word
