"""``gateway mail``: what came in by mail, who wrote it and how that is known, and letting in what waits."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import LIMIT, SEARCHED, cut, listing, now
from gateway.cli.desk import Desk
from gateway.cli.operate.why import STYLE
from gateway.cli.out import Out, Part
from gateway.cli.problem import Problem
from gateway.cli.seat import at_desk
from gateway.cli.told import items_of, object_of, objects_of, text_of, whole
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count, iso, one_line

T = TypeVar("T")

EVENT = click.argument("event", metavar="EVENT")
CONVERSATION = click.argument("conversation", metavar="CONVERSATION")
PREFIX = "mail-"
SHORT = len(PREFIX) + 12
"""Characters of an event's id that a terminal shows; ``show`` and the others take them, too."""
SHORTEST = 4
LIST = "gateway mail list"
TEXT_SHOWN = 4000


@click.group(cls=ListGroup, short_help="Look at mail, let in what waits, hand back.")
def mail() -> None:
    """Mail that came in: who wrote it and how that is known, and what became of it. EVENT is a mail's id
    as it is listed, or its beginning."""


@mail.command("list")
@click.option("--held", is_flag=True, help="Only what is held for an operator.")
@LIMIT
@pass_out
def list_mail(out: Out, held: bool, limit: int) -> None:
    """The latest mail, with its author, how well that is known, and what became of it."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.mail(held=held, limit=limit))
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        event, said = text_of(row.get("event")), [text_of(row.get("level")), _reasons(row)]
        return [
            event[:SHORT] if out.terminal else event,
            _verdict(row, out),
            text_of(row.get("rule")),
            one_line(text_of(row.get("from") or row.get("speaker")), 80),
            one_line(": ".join(filter(None, said)), 160),
            one_line(text_of(row.get("subject")), 80),
            out.when(whole(row.get("came") or row.get("at")), at),
        ]

    columns = ("EVENT", "VERDICT", "RULE", "FROM", "KNOWN", "SUBJECT", "CAME")
    none = "no mail came in yet. Whether it can: gateway doctor email --online"
    if held:
        none = "no mail is held for an operator."
    if listing(out, found, columns, cells, empty=none):
        cut(out, found, limit)
        if held:
            out.note("let one in with: gateway mail admit EVENT")


@mail.command("show")
@EVENT
@pass_out
def show(out: Out, event: str) -> None:
    """One mail: what became of it, how its author was judged, its attachments, its text."""
    with at_desk(out) as (portal, desk):
        row = portal.call(_named(desk, event, again=False))
    if out.json:
        out.data(row)
        return
    _tell(out, row)


@mail.command("raw")
@EVENT
@pass_out
def raw(out: Out, event: str) -> None:
    """The bytes of a mail as they came, for a file or a pipe. A terminal shows what could steer it."""
    with at_desk(out) as (portal, desk):
        found = portal.call(_bytes(desk, event))
    if out.json:
        out.data({"event": event, "raw": found.decode("latin-1")})
    elif out.terminal:
        out.block("", found.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
    else:
        out.untouched(found)


@mail.command("replay")
@EVENT
@pass_out
def replay(out: Out, event: str) -> None:
    """Read the kept bytes again and say what would be judged now, with the settings of now. Nothing is
    changed and nobody answered."""
    with at_desk(out) as (portal, desk):
        row = portal.call(_named(desk, event, again=True))
    if out.json:
        out.data(row)
        return
    was, it_is = text_of(row.get("rule")), object_of(row.get("now"))
    _tell(out, row)
    out.say()
    told = f"{text_of(it_is.get('verdict')).replace('_', ' ')}: {text_of(it_is.get('why'))}"
    same = " (as it was)" if text_of(it_is.get("rule")) == was else ""
    out.fields([("now", f"{told} ({text_of(it_is.get('rule'))}){same}")])


@mail.command("admit")
@EVENT
@pass_out
def admit(out: Out, event: str) -> None:
    """Let in a mail that is held, whatever it was held for. It is answered like any other, and its author
    takes part in the conversation from then on."""
    with at_desk(out, keeps=True) as (portal, desk):
        done = portal.call(_admit(desk, event))
        status = portal.call(desk.status())
    if out.json:
        out.data(done)
        return
    turn, event = text_of(done.get("turn_id")), text_of(done.get("event"))
    out.say(("✓", "green"), f" {event} is let in")
    if status.get("ready"):
        out.say(("  follow it: ", "dim"), f"gateway turns show {turn}")
    else:
        out.say(("  a host answers it: ", "dim"), "gateway serve")


@mail.command("handback")
@CONVERSATION
@pass_out
def handback(out: Out, conversation: str) -> None:
    """Have the agent speak again in a conversation that a colleague took over. CONVERSATION is its id, or
    its session's key. What was held meanwhile stays held."""
    with at_desk(out, keeps=True) as (portal, desk):
        done = portal.call(_known(desk.hand_back(conversation)))
    if out.json:
        out.data(done)
    elif was := text_of(done.get("was")):
        out.say(("✓", "green"), f" the agent speaks again; {was} did")
        out.say(("  what waits: ", "dim"), "gateway mail list --held")
    else:
        out.say(("–", "dim"), " nobody had taken it over; the agent speaks in it")


@mail.command("people")
@CONVERSATION
@pass_out
def people(out: Out, conversation: str) -> None:
    """Who takes part in a conversation, and who of ours speaks in it."""
    with at_desk(out) as (portal, desk):
        found = portal.call(_known(desk.conversation(conversation)))
    if out.json:
        out.data(found)
        return
    who = text_of(found.get("taken_over"))
    out.fields(
        [
            ("conversation", text_of(found.get("conversation"))),
            ("session", text_of(found.get("session"))),
            ("speaks", (f"{who}, who took it over", "yellow") if who else "the agent"),
            *(("takes part", text_of(one)) for one in items_of(found.get("people"))),
        ]
    )


# -- finding -----------------------------------------------------------------------------------------
async def _named(desk: Desk, event: str, *, again: bool) -> JsonObject:
    return await _known(desk.read_mail(await _event(desk, event), again=again))


async def _bytes(desk: Desk, event: str) -> bytes:
    return await _known(desk.raw_mail(await _event(desk, event)))


async def _admit(desk: Desk, event: str) -> JsonObject:
    return await _known(desk.admit_mail(await _event(desk, event)))


async def _event(desk: Desk, given: str) -> str:
    """The mail with this id, or the only one whose id begins so."""
    begins = given if given.startswith(PREFIX) else PREFIX + given
    if len(begins) < len(PREFIX) + SHORTEST or await desk.verdicts(event=begins, limit=1):
        return begins
    rows = await desk.verdicts(source="email", limit=SEARCHED)
    events = {text_of(row.get("event")).partition(":")[0] for row in rows}
    found = sorted(event for event in events if event.startswith(begins))
    if len(found) > 1:
        named = ", ".join(found[:3])
        raise Problem("usage", f"several mails begin so: {named}", fix="give more of the id")
    return found[0] if found else begins


async def _known(work: Awaitable[T]) -> T:
    """What isn't there is found in a list of ours, and not under a route."""
    try:
        return await work
    except (Problem, GatewayError) as error:
        if error.code != "not_found":
            raise
        fix = error.fix or LIST
        raise Problem("not_found", str(error), fix=fix, status=404) from error


# -- words -------------------------------------------------------------------------------------------
def _reasons(row: JsonObject) -> str:
    return " ".join(text_of(one) for one in items_of(row.get("reasons")))


def _verdict(row: JsonObject, out: Out) -> Part:
    word = text_of(row.get("verdict"))
    mark, style = STYLE.get(word, ("–", ""))
    told = word.replace("_", " ")
    return (f"{mark} {told}" if out.terminal else word), style


def _tell(out: Out, row: JsonObject) -> None:
    word, rule = text_of(row.get("verdict")), text_of(row.get("rule"))
    mark, style = STYLE.get(word, ("–", ""))
    told: list[tuple[str, Part]] = [
        ("event", text_of(row.get("event"))),
        (
            "verdict",
            (f"{mark} {word.replace('_', ' ')}: {text_of(row.get('means'))} ({rule})", style),
        ),
        ("judged", iso(whole(row.get("at")))),
    ]
    if turn := text_of(row.get("turn_id")):
        told.append(("turn", f"{turn} → gateway turns show {turn}"))
    if not row.get("kept"):
        told.append(("bytes", "not kept any more"))
        out.fields(told)
        return
    told += _read(row)
    out.fields(told)
    text, quoted = text_of(row.get("text")), text_of(row.get("quoted"))
    if text.strip():
        out.say()
        cut_off = len(text) - TEXT_SHOWN
        out.block(("  │ ", "dim"), text[:TEXT_SHOWN].strip())
        if cut_off > 0:
            out.note(f"and {count(cut_off, 'character')} more: gateway mail show --json")
    if quoted.strip():
        out.note(f"quoted below it: {count(len(quoted), 'character')}; --json shows them")
    if word == "held":
        out.say()
        out.say(f"  gateway mail admit {text_of(row.get('event'))}")


def _read(row: JsonObject) -> list[tuple[str, Part]]:
    level = text_of(row.get("level"))
    told: list[tuple[str, Part]] = [
        ("from", one_line(text_of(row.get("from")), 300)),
        (
            "known",
            (f"level {level}: {text_of(row.get('known'))}", "yellow" if level == "none" else ""),
        ),
    ]
    told += [("", text_of(one)) for one in items_of(row.get("reasons"))]
    came = f"{iso(whole(row.get('came')))} by {text_of(row.get('way'))}"
    told += [
        ("subject", one_line(text_of(row.get("subject")), 300) or "(none)"),
        ("came", f"{came}, {count(whole(row.get('size')), 'byte')}"),
        ("conversation", text_of(row.get("conversation"))),
        ("session", text_of(row.get("joins_session"))),
    ]
    if over := text_of(row.get("taken_over")):
        told.append(("taken over", (f"by {over}", "yellow")))
    if bounce := object_of(row.get("bounce")):
        what = f"{text_of(bounce.get('recipient'))} {text_of(bounce.get('action'))}"
        told.append(("tells of", f"{what}: {text_of(bounce.get('said'))}"))
    for file in objects_of(row.get("attachments")):
        name = one_line(text_of(file.get("name")), 120) or "a part without a name"
        about = f"{name} ({text_of(file.get('media_type'))}, {whole(file.get('size'))} bytes)"
        unread = text_of(file.get("unread"))
        told.append(("attached", f"{about}: {unread}" if unread else about))
    told += [("note", text_of(one)) for one in items_of(row.get("notes"))]
    if hidden := whole(row.get("hidden")):
        told.append(("hidden", f"{count(hidden, 'character')} that its reader wouldn't see"))
    if over_limit := text_of(row.get("over")):
        told.append(("too much", over_limit))
    return told
