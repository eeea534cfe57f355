"""Look, then judge. What is looked at is bounded in time, what judges is pure, and neither a look nor a
check that fails keeps the others from their word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from gateway.cli.doctor.agent import approvers, model
from gateway.cli.doctor.finding import Area, Finding, Fix, error, warning
from gateway.cli.doctor.looks import agent, slack, start, state
from gateway.cli.doctor.seen import Check, Seen
from gateway.cli.doctor.slack import (
    address,
    clock,
    grant,
    manifest,
    mode,
    places,
    running,
    tokens,
)
from gateway.cli.doctor.state import disk, host, schedules, turns, waiting
from gateway.cli.dotenv import DOTENV
from gateway.cli.problem import Problem
from gateway.config import Settings, only_in
from gateway.engine.errors import GatewayError
from gateway.engine.limits import SYSTEM_CLOCK, Clock

T = TypeVar("T")

LOOK_SECONDS = 15.0
"""For each part; a single call to Slack or to the host has less."""
PROBE_SECONDS = 60.0
"""A mail to ourselves has half of them to arrive."""
ONCE = frozenset({"slack.clock", "slack.secret", "slack.socket"})
"""What one fault may show in two places."""

CHECKS: Sequence[tuple[Area, Check]] = (
    ("settings", host.refused),
    ("settings", host.unread),
    ("agent", model.callable_here),
    ("agent", approvers.named),
    ("agent", approvers.deciding),
    ("agent", approvers.by_mail),
    ("slack", tokens.complete),
    ("slack", tokens.kinds),
    ("slack", tokens.installing),
    ("slack", mode.one_way),
    ("slack", mode.as_in_the_app),
    ("slack", address.public_url),
    ("slack", address.reached),
    ("slack", manifest.addresses),
    ("slack", manifest.rest),
    ("slack", grant.token),
    ("slack", grant.scopes),
    ("slack", grant.line),
    ("slack", clock.clock),
    ("slack", places.places),
    ("slack", running.running),
    ("slack", host.channels),
    ("state", host.ready),
    ("state", turns.stranded),
    ("state", turns.unanswerable),
    ("state", waiting.dead_letters),
    ("state", waiting.approvals),
    ("state", schedules.failing),
    ("state", schedules.unknown),
    ("state", disk.room),
    ("state", disk.log),
)


async def examine(
    settings: Settings,
    areas: Collection[Area] = (),
    *,
    online: bool = False,
    probe: bool = False,
    clock: Clock = SYSTEM_CLOCK,
) -> list[Finding]:
    """All that is wrong, errors first. ``areas``: only these; ``online`` asks Slack and the mail servers,
    too; ``probe`` sends a mail."""
    found: list[Finding] = []
    looked = await _bounded("agent", asyncio.to_thread(agent.look, settings), found)
    defined, kept_manifest, mistakes = looked or (None, None, [])
    found += mistakes
    unread = await asyncio.to_thread(only_in, DOTENV)
    loaded = None if defined is None else defined.loaded
    titles = [one.title for one in mistakes]
    trial = asyncio.to_thread(start.look, settings, unread, loaded, titles)
    seen = Seen(
        settings=settings,
        now=clock.now(),
        unread=unread,
        refused=await _bounded("settings", trial, found) or (),
        named="slack" in areas,
        named_mail="email" in areas,
        defined=defined,
        manifest=kept_manifest,
        disk=await _bounded("disk", asyncio.to_thread(state.disk, settings), found),
    )
    stored = await _bounded("state", state.look(settings), found)
    if stored is not None:
        found += stored[1]
        seen = replace(seen, kept=stored[0])
    if stored is None or any(one.id == "state.host" for one in stored[1]):
        # A process that is there has been started: what is in the way of another one is itself.
        seen = replace(seen, refused=())
    if (online or probe) and not settings.missing("email") and (not areas or "email" in areas):
        from gateway.cli.doctor.looks.mail import look as look_at_mail

        sight = look_at_mail(settings, probe=probe)
        told = await _bounded("email", sight, found, PROBE_SECONDS if probe else LOOK_SECONDS)
        seen = replace(seen, mail=told)
    if online:
        asked = await _bounded("slack", slack.look(settings, loaded), found)
        seen = replace(seen, asked=asked, now=clock.now())
    for _, check in (*CHECKS, *_of_mail(seen)):
        found += _checked(check, seen)
    chosen = [one for one in found if not areas or one.area in {*areas, "settings"}]
    unlike = list({(one.id, one.title, one.evidence): one for one in chosen}.values())
    return sorted(_told_once(unlike), key=lambda one: one.severity == "warning")


def _of_mail(seen: Seen) -> Sequence[tuple[Area, Check]]:
    """Loaded where there is an inbox: they know its protocols."""
    if not (seen.mail_wanted or seen.named_mail or seen.mail_mounted):
        return ()
    from gateway.cli.doctor.email import border, given, servers, waiting

    return (
        ("email", given.complete),
        ("email", given.address),
        ("email", given.readable),
        ("email", servers.mailbox),
        ("email", servers.way_out),
        ("email", servers.plus),
        ("email", border.believed),
        ("email", border.plus_seen),
        ("email", waiting.down),
        ("email", waiting.lease),
        ("email", waiting.quarantine),
        ("email", waiting.held),
    )


async def _bounded(
    what: Area | str, look: Awaitable[T], found: list[Finding], seconds: float = LOOK_SECONDS
) -> T | None:
    try:
        async with asyncio.timeout(seconds):
            return await look
    except TimeoutError:
        why = f"it took over {seconds:.0f} s"
    except (GatewayError, Problem) as failed:
        name = "state" if what == "disk" else what
        how = failed.fix or "mend that, then look again"
        found.append(
            error(f"{name}.look", f"the {what} can't be looked at", str(failed), Fix(text=how))
        )
        return None
    except Exception as failed:  # noqa: BLE001 - the other parts are looked at all the same
        why = type(failed).__name__
    again = Fix(text="See what happens inside", command="gateway doctor --debug")
    found.append(warning(f"{what}.look", f"the {what} couldn't be looked at", why, again))
    return None


def _checked(check: Check, seen: Seen) -> list[Finding]:
    try:
        return list(check(seen))
    except Exception as failed:  # noqa: BLE001 - the others say what they have to say
        again = Fix(text="See what happens inside", command="gateway doctor --debug")
        name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        return [warning("settings.doctor", f"the check {name} broke", type(failed).__name__, again)]


def _told_once(found: Sequence[Finding]) -> list[Finding]:
    """What Slack and the host both tell of is one fault: the first that says it, which is what was
    found by asking."""
    seen: set[str] = set()
    told: list[Finding] = []
    for one in found:
        if one.id in ONCE and one.id in seen:
            continue
        seen.add(one.id)
        told.append(one)
    return told
