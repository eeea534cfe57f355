"""Replies, automated mail and forged identities: what other rooms judge. Here it is that their fields and
texts arrive as they were sent."""

from __future__ import annotations

from functools import partial

from tests.unit.email.corpus.build import HEAD, Expected, Made, mail, multipart, part, table, text

PEOPLE, case = table()
VICTIM, ATTACKER = "alice@good.example", "eve@evil.example"
FORGED = (
    f"<{VICTIM}>{ATTACKER}",
    f"{VICTIM}){ATTACKER}",
    f"{VICTIM} <{ATTACKER}>",
    f"{VICTIM}\r\n <{ATTACKER}>",
    f"<{VICTIM}> <{ATTACKER}>",
    f"{VICTIM}\x0b<{ATTACKER}>",
    f"<@a.example,@b.example:{ATTACKER}>",
    f"{VICTIM}:{ATTACKER};",
    f"{VICTIM}\x00<{ATTACKER}>",
    f'"{VICTIM}" <{ATTACKER}>',
    f"=?utf-8?q?alice=40good=2Eexample?= <{ATTACKER}>",
    f"{VICTIM}, {ATTACKER}",
)
RESULTS = (
    "mx.shop.example; dmarc=pass header.from=good.example",
    "MX.SHOP.EXAMPLE; dmarc=pass header.from=good.example",
    "(hi) mx.shop.example; dmarc=pass header.from=good.example",
    "mx.shop.example (hi) ; dmarc=pass header.from=good.example",
    '"mx.shop.example"; dmarc=pass header.from=good.example',
    "mx.shop.example 1; dmarc=pass header.from=good.example",
    "\r\n mx.shop.example;\r\n\tdmarc=pass header.from=good.example",
    'mx.shop.example; spf=pass smtp.mailfrom="x; dmarc=pass"',
)
MARKERS = (
    "Auto-Submitted: auto-replied; owner=x",
    "Precedence: bulk",
    "List-Id: <l.example>",
    "X-Auto-Response-Suppress: All",
    "X-Autoreply: yes",
    "Return-Path: <>",
    "Feedback-ID: 1:x",
)
REPLIES = (
    "yes\n\nOn Mon, 1 Mar 2027 june wrote:\n> Shall I?\n",
    "yes\n\nAm 1.3.2027 schrieb june:\n> Soll ich?\n",
    "> Shall I?\nyes\n> Really?\nreally\n",
    "yes\n\n-----Original Message-----\nFrom: june\nSent: Monday\n\nShall I?\n",
    "yes\n\n-- \nAda\nCustomer\n",
    "yes\n\n— reply above this line —\n\nold\n",
)


def _forged(value: str) -> Made:
    raw = f"From: {value}\r\n".encode() + HEAD.partition(b"\r\n")[2] + b"\r\nhello"
    return raw, Expected(text="hello", fields=(("from", f" {value}".encode()),))


def _result(value: str) -> Made:
    raw = f"Authentication-Results: {value}\r\n".encode() + mail("", "hello")
    expected = ("authentication-results", f" {value}".encode())
    return raw, Expected(text="hello", fields=(expected,))


def _marked(line: str) -> Made:
    name, _, value = line.partition(":")
    return mail(f"{line}\n", "I am away."), Expected(
        text="I am away.", fields=((name.lower(), value.encode()),)
    )


def _reply(body: str) -> Made:
    return mail("", body), Expected(text=body.rstrip("\n"))


for room, way, lines in (
    *(("forged_from", _forged, FORGED), ("results", _result, RESULTS)),
    *(("automated", _marked, MARKERS), ("reply", _reply, REPLIES)),
):
    PEOPLE.update({f"{room}_{n}": partial(way, line) for n, line in enumerate(lines)})


@case
def bounce() -> Made:
    machine = part(
        "message/delivery-status", "Final-Recipient: rfc822; a@b.example\nStatus: 5.1.1\n"
    )
    old = part("message/rfc822", mail("", "what we sent"))
    raw = multipart(
        "report", text("It failed."), machine, old, more="; report-type=delivery-status"
    )
    return raw, Expected(text="It failed.", files=(), forwarded=False)


@case
def bounce_with_headers_only() -> Made:
    machine = part("message/delivery-status", "Status: 4.2.2\n")
    old = part("text/rfc822-headers", "Message-ID: <m@shop.example>\n")
    raw = multipart("report", text("It is late."), machine, old)
    return raw, Expected(text="It is late.", files=())


@case
def receipt() -> Made:
    machine = part("message/disposition-notification", "Disposition: automatic-action\n")
    return multipart("report", text("It was read."), machine), Expected(text="It was read.")
