"""``gateway approvals``: what waits for a person, and the person's answer."""

from __future__ import annotations

import json
from typing import cast

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import LIMIT, called, cut, find_approval, listing, named, now
from gateway.cli.exits import Exit
from gateway.cli.out import Out, Part
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import at_desk
from gateway.cli.talk.card import answerers, boolean, card, command
from gateway.cli.talk.printer import TurnPrinter
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.kinds import Json, JsonObject
from gateway.host.words.text import one_line


@click.group(cls=ListGroup, short_help="List, show, approve and deny what waits.")
def approvals() -> None:
    """Requests that wait for a person. They wait as long as it takes."""


@approvals.command("list")
@LIMIT
@pass_out
def list_approvals(out: Out, limit: int) -> None:
    """What is waiting, longest first."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.approvals(limit=limit))
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        return [
            text_of(row.get("id")),
            named(row, "session", out),
            one_line(text_of(row.get("prompt")), 200),
            answerers(object_of(row.get("answerers"))),
            out.when(whole(row.get("created_at")), at),
        ]

    columns = ("REQUEST", "SESSION", "WHAT", "WHO MAY ANSWER", "SINCE")
    if listing(out, found, columns, cells, empty="nothing waits for a person."):
        cut(out, found, limit, "oldest")


@approvals.command("show")
@click.argument("id", metavar="REQUEST")
@pass_out
def show(out: Out, id: str) -> None:  # noqa: A002
    """One request: exactly what would run, and who may decide."""
    with at_desk(out) as (portal, desk):
        found = portal.call(find_approval(desk, id))
    if out.json:
        out.data(found)
        return
    card(out, found)
    out.say()
    if outcome := text_of(found.get("outcome")):
        by = called(found, "by")
        out.say(f"  {outcome}" + (f" by {by}" if by else ""))
        return
    out.say(f"  {command(found)}")
    if boolean(found):
        out.say(f'  gateway approvals deny {text_of(found.get("id"))} --reason "…"')


REASON = click.option("--reason", metavar="TEXT", help="Kept with the answer; the model reads it.")
WAIT = click.option(
    "--wait/--no-wait", default=True, show_default=True, help="Stay until the turn rests again."
)


@approvals.command("approve")
@click.argument("id", metavar="REQUEST")
@REASON
@WAIT
@pass_out
def approve(out: Out, id: str, reason: str | None, wait: bool) -> None:  # noqa: A002
    """Say yes. What runs is exactly what was shown, or nothing."""
    _answer(out, id, True, reason, wait)


@approvals.command("deny")
@click.argument("id", metavar="REQUEST")
@REASON
@WAIT
@pass_out
def deny(out: Out, id: str, reason: str | None, wait: bool) -> None:  # noqa: A002
    """Say no, and best why."""
    _answer(out, id, False, reason, wait)


@approvals.command("answer")
@click.argument("id", metavar="REQUEST")
@click.option("--value", required=True, metavar="JSON", help="The answer; it must fit the schema.")
@REASON
@WAIT
@pass_out
def answer(out: Out, id: str, value: str, reason: str | None, wait: bool) -> None:  # noqa: A002
    """Answer a question that takes more than yes or no."""
    try:
        parsed = cast("Json", json.loads(value))
    except ValueError as error:
        raise Problem(
            "usage", f"--value isn't JSON: {error}", fix="--value '\"text\"' or --value '{…}'"
        ) from error
    _answer(out, id, parsed, reason, wait)


def _answer(out: Out, id: str, value: Json, reason: str | None, wait: bool) -> None:  # noqa: A002
    with at_desk(out, works=True) as (portal, desk):
        request = portal.call(find_approval(desk, id))
        _still_open(request)
        if isinstance(value, bool) and not boolean(request):
            raise Problem(
                "usage",
                "this request asks for more than yes or no",
                fix=command(request),
            )
        turn = (text_of(request["agent"]), text_of(request["session"]), text_of(request["turn_id"]))
        before = whole(portal.call(desk.snapshot(*turn)).get("last_seq"))
        answered = portal.call(desk.decide(request, value, reason=reason))
        out.say(*_told(request, answered))
        if not answered.get("decided") or not wait:
            _end(out, answered, None)
            return
        printer = TurnPrinter(out)
        for event in portal.stream(desk.follow(*turn, after=before)):
            if event.get("type") != "input.answered":  # said already
                printer.feed(event)
        printer.finish()
        snapshot = portal.call(desk.snapshot(*turn))
    _end(out, answered, snapshot)


def _still_open(request: JsonObject) -> None:
    """Who comes second learns who was first."""
    if outcome := text_of(request.get("outcome")):
        by = called(request, "by")
        raise Problem(
            "already_answered",
            f"already {outcome}" + (f" by {by}" if by else ""),
            fix=f"gateway turns show {text_of(request.get('turn_id'))}",
            exit_code=Exit.CONFLICT,
        )


def _told(request: JsonObject, answered: JsonObject) -> list[Part]:
    prompt = one_line(text_of(request.get("prompt")), 200)
    if not answered.get("decided"):
        votes = f"{whole(answered.get('votes'))} of {whole(answered.get('quorum'))}"
        return [("⏸ ", "yellow"), f"your vote counts: {votes} so far. {prompt}"]
    outcome = text_of(answered.get("outcome"))
    mark: Part = ("✗ ", "red") if outcome == "denied" else ("✓ ", "green")
    return [mark, f"{outcome}: {prompt}"]


def _end(out: Out, answered: JsonObject, snapshot: JsonObject | None) -> None:
    if out.json:
        out.data(answered if snapshot is None else {**answered, "turn": snapshot})
    if snapshot is not None and snapshot.get("state") in {"failed", "timed_out"}:
        raise Finished(Exit.FAILURE)
