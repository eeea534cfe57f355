"""The scene that plays next Monday, or whenever the digest is due: june speaks first."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.cli.demo.office import Office
from gateway.cli.demo.slack_scenes import show
from gateway.cli.demo.theatre import Theatre, listed
from gateway.cli.problem import Problem
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import SYSTEM_CLOCK

NAME = "daily_digest"
PLACES = (("C0000000OPS", f"schedules/{NAME}.md"), ("C0000000APR", "agent.py"))
"""Channels that the demo agent's files name, the reader's own: of its digest, and of its approvals."""


def moved_in(agent: Path, state: Path, ops: str, approvals: str) -> None:
    """The agent with two lines of it changed: its messages go into the channels there are here."""
    made = state / "agent"
    shutil.copytree(agent, made, ignore=shutil.ignore_patterns("__pycache__"))
    for (elsewhere, name), here in zip(PLACES, (ops, approvals), strict=True):
        path = made / name
        text = path.read_text("utf-8")
        if text.count(elsewhere) != 1:
            raise Problem("demo", f"{name} names another channel now", fix="git checkout agent")
        path.write_text(text.replace(elsewhere, here), "utf-8")


async def digest(on: Theatre, office: Office) -> None:
    row = await _schedule(on)
    due, zone = Millis(whole(row.get("next"))), ZoneInfo(text_of(row.get("timezone")))
    nine = datetime.fromtimestamp(due / 1000, zone)
    on.stage.says("", f"{NAME} runs {text_of(row.get('told'))}, next {nine:%A %H:%M} {zone}")
    await on.host.kill()
    died = now(on)
    _go_to(on, office, due)
    await on.crash(f"before it was {nine:%H:%M}", f"started again on {nine:%A} at {nine:%H:%M}")
    await office.until("a digest", lambda: bool(office.in_ops()) and _quiet(office))
    show(on, office.in_ops())
    posts = office.in_ops()
    said = posts[0].text
    on.stage.that(
        f"no host ran when it was due at {nine:%H:%M}: one message in #ops all the same",
        died < due and len(posts) == 1 and "Needs a person: 1046" in said,
        [post.text for post in posts],
    )
    await on.settled()  # nobody reads and answers while the host still hears that its post arrived
    asked = "where is 1046 now?"
    on.stage.says("lead", f"{asked}   (in the thread below it)")
    await office.lead.say(office.ops, asked, thread=posts[0])
    await office.until("an answer", lambda: len(office.in_ops()) > 1)
    await office.until(
        "the end of it", lambda: office.status_in(office.ops, posts[0].ts) == "active"
    )
    show(on, office.in_ops()[1:])
    last = object_of((await _schedule(on)).get("last"))
    told = await on.transcript(text_of(last.get("session")))
    roles = [text_of(message.get("role")) for message in told]
    on.stage.that(
        "whoever replies to it goes on with what june knew: one conversation",
        roles[0] == "trigger" and "user" in roles and "Order 1046" in office.in_ops()[-1].text,
        roles,
    )
    sent = object_of(last.get("delivery"))
    on.stage.that(
        "gateway schedules list shows that it was delivered, and where",
        sent.get("state") == "done" and text_of(sent.get("ref")).endswith(posts[0].ts),
        last,
    )


def _go_to(on: Theatre, office: Office, moment: Millis) -> None:
    """The host that starts next is on that day then, and what Slack signs is for it."""
    on.host.ahead = Millis(moment - SYSTEM_CLOCK.now())
    office.slack.signed_at = lambda: now(on)


def now(on: Theatre) -> Millis:
    return Millis(SYSTEM_CLOCK.now() + on.host.ahead)


def _quiet(office: Office) -> bool:
    return all(shown.streaming != "in_progress" for shown in office.in_ops())


async def _schedule(on: Theatre) -> JsonObject:
    rows = listed(await on.client.get("/schedules"), "schedules")
    found = next((row for row in rows if row.get("name") == NAME), None)
    if found is None:
        raise Problem("demo", f"the agent has no schedule {NAME}", fix="git checkout agent")
    return found
