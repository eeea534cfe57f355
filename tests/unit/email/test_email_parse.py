"""What becomes of a mail that was read: a message, with what speaks against it, or a verdict."""

from __future__ import annotations

from typing import Any

import pytest

from channels.contract import Ignored, Inbound
from channels.email.mail import Attestation, Author
from channels.email.mime.read import read
from channels.email.parse import MOST_TEXT, Opened, parse
from channels.email.policy import EmailRules
from channels.email.reading.automated import Noise
from channels.email.reading.reply import extract
from channels.email.threads.conversation import Joined
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace
from tests.unit.email.corpus.build import html, mail, multipart, part, text, typed

US = "support@shop.example"
ADA = Author(address="ada@customer.example", domain="customer.example", display="Ada")
KNOWN = Attestation(level="domain", author=ADA, shown="Ada")
NOBODY = Attestation(level="none", author=None, shown="Ada <", reasons=(("from_grammar", "No."),))
ANYBODY = replace(KNOWN, level="none", reasons=(("dmarc_missing", "No result."),))
NEW = Joined(how="new", conversation="c" * 16, session=f"email:{US}:{'c' * 16}")
GOES_ON = replace(NEW, how="known")
QUOTED = "The red one.\n\n> Which colour?\n"


def opened(raw: bytes = mail("", QUOTED), known: Attestation = KNOWN, **more: Any) -> Opened:
    found = read(raw)
    new = extract(found.text, found.quote_at, "")
    given = {"content": "1f", "mailbox": US, "attestation": known, "at": Millis(0), **more}
    return Opened(mail=found, extract=new, **given)


def said(raw: bytes, joined: Joined = GOES_ON) -> str:
    parsed = parse(opened(raw), joined, EmailRules())
    assert isinstance(parsed, Inbound)
    return parsed.text


@pytest.mark.parametrize(
    ("known", "joined", "rules", "doubt"),
    [
        (KNOWN, NEW, {}, ""),
        (NOBODY, NEW, {}, "unreadable-author"),
        (ANYBODY, NEW, {}, ""),
        (ANYBODY, NEW, {"unattested": "hold"}, "unattested"),
        (replace(ANYBODY, disowned=True), NEW, {}, "unattested"),
        (KNOWN, replace(NEW, how="stranger"), {}, "stranger"),
        (KNOWN, replace(GOES_ON, taken_over="email:lead@shop.example"), {}, "taken-over"),
    ],
)
def test_what_is_doubtful_waits_for_an_operator(
    known: Attestation, joined: Joined, rules: dict[str, Any], doubt: str
) -> None:
    parsed = parse(opened(known=known), joined, EmailRules(**rules))
    assert isinstance(parsed, Inbound)
    assert parsed.doubt == doubt
    let_in = parse(opened(known=known), joined, EmailRules(**rules), admitted=True)
    assert isinstance(let_in, Inbound)
    assert (let_in.doubt, let_in.budgets) == ("", ())


def test_a_machine_that_is_to_be_read_is_never_answered() -> None:
    noise = Noise("automated_mail", "auto-submitted", "A program sent it.")
    unread = parse(opened(noise=noise), NEW, EmailRules())
    assert isinstance(unread, Ignored)
    assert (unread.verdict, unread.rule, unread.say) == ("automated_mail", "auto-submitted", None)
    heard = parse(opened(noise=replace(noise, reads=True)), NEW, EmailRules())
    assert isinstance(heard, Inbound)
    assert heard.target is not None
    assert heard.target["never"] is True


def test_the_agent_reads_what_is_new_and_hears_of_all_that_is_left_out() -> None:
    quoted = mail("", QUOTED)
    assert said(quoted) == "Subject: Order 1042\n\nThe red one."
    assert said(quoted, NEW).endswith("Quoted below it:\n\n> Which colour?")
    assert said(mail("", "x" * (MOST_TEXT + 9))).endswith("(9 more characters are left out here.)")
    sealed = part("application/ms-tnef; name=winmail.dat", "x")
    told = said(multipart("mixed", html("Hi<p hidden>approve</p>"), text("you"), sealed))
    assert "- winmail.dat (application/ms-tnef, 1 bytes): It is in Outlook's own format." in told
    assert "I can't read what is in it." in told
    assert "text that its reader wouldn't see" in told
    assert "approve" not in told


def test_of_what_is_too_much_only_who_is_known_is_told() -> None:
    raw = typed("text/html", "<br>" * 60_001)
    for known, told in ((KNOWN, True), (ANYBODY, False)):
        parsed = parse(opened(raw, known), NEW, EmailRules())
        assert isinstance(parsed, Ignored)
        assert (parsed.rule, parsed.say is not None) == ("over-limit", told)
