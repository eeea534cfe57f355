"""What the commands that look at things share: finding by id, rows, words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import click

from gateway.cli.desk import Desk
from gateway.cli.exits import Exit
from gateway.cli.out import Out, Part
from gateway.cli.problem import Problem
from gateway.cli.text import STATE_MARK, STATE_STYLE, arguments
from gateway.cli.told import object_of, objects_of, text_of
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.host.words.text import one_line
from gateway.outbox.reference import reference_of

AGENT = click.option("--agent", metavar="NAME", help="Which agent, where there are several.")
LIMIT = click.option(
    "--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="At most so many."
)
SEARCHED = 500
"""How many rows are looked through for an id."""
NAMED = 10
"""How many an error names: more are a list, which there is a command for."""


def now() -> int:
    return SYSTEM_CLOCK.now()


def state_part(state: str, out: Out) -> Part:
    """A state with its mark on a terminal, bare in a pipe."""
    mark = f"{STATE_MARK.get(state, ' ')} " if out.terminal else ""
    return mark + state, STATE_STYLE.get(state, "")


def named(row: JsonObject, field: str, out: Out) -> str:
    """By name on a terminal, where the host knows one; by its id in a pipe, where programs read it."""
    name = text_of(row.get(f"{field}_name")) if out.terminal else ""
    return name or text_of(row.get(field))


def called(row: JsonObject, field: str) -> str:
    """Both: ``ada (slack:T1:U1)``."""
    found, name = text_of(row.get(field)), text_of(row.get(f"{field}_name"))
    return f"{name} ({found})" if name else found


def listing(
    out: Out,
    found: Sequence[JsonObject],
    columns: Sequence[str],
    cells: Callable[[JsonObject], list[Part]],
    *,
    empty: str,
) -> bool:
    """A list as JSON, as a table, or the word that it is empty. Whether it was a table."""
    if out.json:
        out.data([*found])
        return False
    if not found:
        out.note(empty)
        return False
    out.table([*columns], [cells(row) for row in found])
    return True


def cut(out: Out, rows: Sequence[object], limit: int, which: str = "latest") -> None:
    """Say that there may be more. ``which``: that a list begins with, which is the latest of most."""
    if len(rows) >= limit:
        more = f"; more with --limit {min(500, limit * 4)}" if limit < 500 else ""
        out.note(f"the {which} {limit}{more}")


async def find_session(desk: Desk, session: str, agent: str | None) -> JsonObject:
    rows = await desk.sessions(agent=agent, limit=SEARCHED)
    found = [row for row in rows if row.get("session") == session]
    if len(found) > 1:
        raise _several("session", session, found, "agent")
    if found:
        return found[0]
    if len(rows) >= SEARCHED and agent:  # an old one, beyond what a list shows
        turns = await desk.turns(agent=agent, session=session, limit=1)
        if turns:
            return {"agent": agent, "session": session, "status": "", "turns": len(turns)}
    raise Problem("not_found", f"no session {session!r}", fix="gateway sessions list", status=404)


async def find_turn(
    desk: Desk, turn_id: str, session: str | None = None, agent: str | None = None
) -> JsonObject:
    """The turn with this id, or with this reference (which people are told when one fails), or the only
    one whose id begins so."""
    rows = await desk.turns(agent=agent, session=session, limit=SEARCHED)
    found = [row for row in rows if reference_of(text_of(row.get("turn_id"))) == turn_id]
    found = found or _by_id(rows, "turn_id", turn_id)
    if len(found) > 1:
        # Only a whole id may stand in several sessions; otherwise more of the id is what is missing.
        same = len({text_of(row.get("turn_id")) for row in found}) == 1
        raise _several("turn", turn_id, found, "session" if same else "turn_id")
    if found:
        return found[0]
    if session and agent:  # an old one, beyond what a list shows
        snapshot = await desk.snapshot(agent, session, turn_id)
        return {**snapshot, "agent": agent, "session": session}
    more = f" among the last {SEARCHED}" if len(rows) >= SEARCHED else ""
    raise Problem(
        "not_found",
        f"no turn {turn_id!r}{more}",
        fix="gateway turns list"
        if not more
        else f"gateway turns show {turn_id} --session … --agent …",
        status=404,
    )


async def find_approval(desk: Desk, id: str) -> JsonObject:  # noqa: A002
    """The request with this id, or the only open one whose id begins so."""
    found = _by_id(await desk.approvals(limit=SEARCHED), "id", id)
    if len(found) > 1:
        raise _several("request", id, found, "id")
    if found:
        return found[0]
    try:
        return await desk.approval(id)
    except (Problem, GatewayError) as error:
        if error.code != "not_found":
            raise
        # A host tells the way out in its own terms: a route.
        raise Problem(
            "not_found", f"no request {id!r}", fix="gateway approvals list", status=404
        ) from error


def _by_id(rows: Sequence[JsonObject], field: str, wanted: str) -> list[JsonObject]:
    exact = [row for row in rows if row.get(field) == wanted]
    return exact or [
        r for r in rows if len(wanted) >= 4 and text_of(r.get(field)).startswith(wanted)
    ]


def _several(kind: str, wanted: str, rows: Sequence[JsonObject], field: str) -> Problem:
    known = sorted({text_of(row.get(field)) for row in rows})
    names = ", ".join(known[:NAMED]) + (", …" if len(known) > NAMED else "")
    whole = field in {"id", "turn_id"}
    option = f"the whole id, one of: {names}" if whole else f"--{field} <one of: {names}>"
    return Problem(
        "ambiguous", f"several {kind}s match {wanted!r}", fix=option, exit_code=Exit.USAGE
    )


async def the_agent(desk: Desk, agent: str | None) -> str:
    """The agent to talk to: the one that is named, or the only one there is."""
    names = [text_of(row.get("name")) for row in await desk.agents()]
    if agent is not None:
        if agent not in names:
            raise Problem(
                "not_found",
                f"no agent {agent!r}",
                fix=f"--agent {names[0]}" if names else "gateway check",
                status=404,
            )
        return agent
    if len(names) != 1:
        said_names = ", ".join(names) or "none"
        raise Problem("usage", f"which agent? there are: {said_names}", fix="--agent <name>")
    return names[0]


# -- words -----------------------------------------------------------------------------------------
def show_messages(out: Out, messages: Sequence[JsonObject]) -> None:
    """A transcript, turn by turn."""
    turn = ""
    for message in messages:
        if text_of(message.get("turn_id")) != turn:
            turn = text_of(message.get("turn_id"))
            out.say((f"── {turn}", "dim"))
        for block in objects_of(message.get("content")):
            _show_block(out, text_of(message.get("role")), block)


NAMES: dict[str, Part] = {
    "user": ("you    ", "bold"),
    "assistant": ("agent  ", "cyan"),
    "trigger": ("trigger ", "bold"),
}


def _show_block(out: Out, role: str, block: JsonObject) -> None:
    indent = " " * 7
    match block.get("type"):
        case "text":
            out.block(NAMES.get(role, f"{role:<7}"), text_of(block.get("text")))
        case "tool_call":
            given = arguments(object_of(block.get("input")), 300)
            out.block((indent + "▸ ", "cyan"), f"{text_of(block.get('name'))}({given})", "dim")
        case "tool_result":
            mark, style = ("✗", "red") if block.get("is_error") is True else ("✓", "green")
            shown = one_line(plain_json(block.get("output")), 300)
            decided = _decision(object_of(block.get("decision")))
            told = f"{text_of(block.get('name'))} → {shown}{decided}"
            out.block((f"{indent}{mark} ", style), told, "dim")
        case "reasoning":
            out.block(indent + "· ", one_line(text_of(block.get("text")), 300), "dim")
        case "attachment":
            out.block(indent + "· ", f"attached {text_of(block.get('name'))}", "dim")
        case kind:
            out.block(indent + "· ", text_of(kind), "dim")


def _decision(decision: JsonObject) -> str:
    if not decision:
        return ""
    by, reason = text_of(decision.get("by")), text_of(decision.get("reason"))
    told = [text_of(decision.get("outcome"))]
    if by:
        told.append(f"by {by}")
    if reason:
        told.append(f'"{one_line(reason, 200)}"')
    return f"  ({' '.join(told)})"


def plain_json(item: Json) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
