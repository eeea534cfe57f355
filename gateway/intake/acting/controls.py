"""What isn't a message and decides nothing: stop, start over, an edit, a removal, a look at a request.

Acting twice changes nothing: a turn is cancelled by its id, a reset is meant for one generation, and of
the versions of a post only the newest keeps its turn.
"""

from __future__ import annotations

from contextlib import suppress

from channels.contract import Control, Inbound, Place
from channels.protocol import Person
from gateway.approvals import words as deciding
from gateway.approvals.reading import read_card
from gateway.engine.errors import DuplicateClaimError
from gateway.engine.kinds import OPEN_STATES, Millis, SessionRef
from gateway.engine.ledger import Asked
from gateway.engine.records import DeliveryMark, TurnRecord
from gateway.engine.struct import replace
from gateway.intake import keys, words
from gateway.intake.accept import Letter
from gateway.intake.acting.answers import stands_for
from gateway.intake.acting.means import Came, Later, Means, Settled, settle
from gateway.intake.acting.who import acts_as
from gateway.intake.looks import next_look, retry_at

STREAMS = "streams"
"""In ``Control.reply`` of a stop: the messages that were being written."""
REQUEST = "request"
"""In ``Control.reply`` of a look at a request: which one."""
HELD = Millis(60_000)
"""How long nobody else resets a session after whoever did so died of it."""
VERSIONS = 200
"""How many turns of a session are searched for those of one post."""
SOON = 2
"""An edit looks for its message that often: what it changes shall not run for long."""


async def control(
    means: Means, asked: Control, since: Millis, generation: int | None, attempts: int
) -> Came:
    """Act on what came in at ``since``. Raises ``StoreUnavailableError`` and ``RetryLater``."""
    match asked.kind:
        case "stop":
            return await _stop(means, asked, since)
        case "reset":
            return await _reset(means, asked, generation)
        case "edit":
            return await _edit(means, asked, since, attempts)
        case "delete":
            return await _delete(means, asked, since)
        case "show" | "form":
            return await _look(means, asked, since)
        case "home" | "uninstalled" | "revoked":
            await means.channel.act(asked, None)
            return settle(means, asked, "accepted", f"{asked.kind}:done")


# -- stop ------------------------------------------------------------------------------------------------
async def _stop(means: Means, asked: Control, since: Millis) -> Settled:
    found = await _stopped(means, asked, since)
    if found is None:
        nothing = settle(means, asked, "accepted", "stop:nothing-runs")
        return replace(nothing, rows=(*nothing.rows, *await _waiting(means, asked)))
    ref, turn = found
    if asked.by is None or asked.by.id != turn.speaker:
        who = await _who(means, asked)
        if who is None:
            return settle(means, asked, "policy", "unchecked", turn=turn.row, say=words.UNSURE)
        theirs = await acts_as(means, who, turn) == turn.speaker
        if who.standing != "member" and not theirs:
            told = words.NOT_YOURS_TO_STOP
            return settle(means, asked, "policy", "stop:not-yours", turn=turn.row, say=told)
    await means.runtime.session(ref.agent, ref.key).cancel(turn.turn_id)
    return settle(means, asked, "accepted", "stop:stopped", turn=turn.row)


async def _who(means: Means, asked: Control) -> Person | None:
    return None if asked.by is None else await means.channel.person(asked.by, asked.reply)


async def _stopped(
    means: Means, asked: Control, since: Millis
) -> tuple[SessionRef, TurnRecord] | None:
    """The turn that was running when somebody pressed Stop."""
    store = means.runtime.store
    for shown in _streams(asked):
        delivery = await store.ledger.shown_at(means.source, shown)
        if delivery is not None and delivery.agent == means.agent:
            ref = SessionRef(delivery.agent, delivery.session)
            turn = await store.turn(ref, delivery.turn_id)
            return None if turn is None or turn.state not in OPEN_STATES else (ref, turn)
    if asked.place is None:
        return None
    ref = await means.entrance.session_at(asked.place, asked.event_id)
    turns = [one.turn for one in await store.list_turns(ref=ref, limit=VERSIONS)]
    turns.sort(key=lambda turn: turn.number)
    ended: TurnRecord | None = None
    for turn in turns:
        if turn.state in OPEN_STATES:
            # One that took the place of what ended meanwhile wasn't meant.
            late = ended is not None and (ended.ended_at or 0) >= since
            meant = turn.state != "suspended" and turn.queued_at <= since and not late
            return (ref, turn) if meant else None
        ended = turn
    return None


async def _waiting(means: Means, asked: Control) -> list[DeliveryMark]:
    """What waits for a person isn't ended by a stop. Its views are looked at again, since who speaks in the
    conversation may have changed."""
    if asked.place is None:
        return []
    ref = await means.entrance.session_at(asked.place, asked.event_id)
    parked = await means.runtime.store.list_turns(ref=ref, state="suspended", limit=VERSIONS)
    return [DeliveryMark(turn=one.turn.row, at=means.clock.now()) for one in parked]


def _streams(asked: Control) -> list[str]:
    """References of the messages named. Where a platform names them by the last part of their
    reference alone, the place has the rest."""
    named = asked.reply.get(STREAMS)
    at = "" if asked.place is None else asked.place.key.rpartition(":")[0]
    texts = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    return [one if ":" in one else f"{at}:{one}" for one in texts]


# -- reset -----------------------------------------------------------------------------------------------
async def _reset(means: Means, asked: Control, generation: int | None) -> Came:
    who = await _who(means, asked)
    if who is None:
        return settle(means, asked, "policy", "unchecked", say=words.UNSURE)
    if who.standing != "member":
        told = words.NOT_YOURS_TO_RESET
        return settle(means, asked, "policy", "reset:not-yours", say=told)
    if asked.place is None or generation is None:
        told = words.NOTHING_TO_RESET
        return settle(means, asked, "accepted", "reset:nothing", say=told)
    ref = await means.entrance.session_at(asked.place, asked.event_id)
    if not await _started_over(means, ref, generation, asked.event_id):
        return Later(retry_at(1, means.clock.now()), "a reset is under way")
    return settle(means, asked, "accepted", "reset:done", say=words.RESET)


async def _started_over(means: Means, ref: SessionRef, generation: int, event_id: str) -> bool:
    """End this generation, unless that was done already. Two who ask for it at once end one, and a
    reset that waits for a running turn isn't asked for again: it would end what was said since."""
    store = means.runtime.store
    name = f"reset:{ref.agent}:{ref.key}"
    if not await store.ledger.hold(name, event_id, HELD):
        return False
    try:
        row = await store.session(ref)
        if row is None or row.generation != generation:
            return True
        if row.reset_at is not None:
            return False
        await means.runtime.session(ref.agent, ref.key).reset()
        return True
    finally:
        await store.ledger.let_go(name, event_id)


# -- edits and removals ------------------------------------------------------------------------------------
async def _edit(means: Means, asked: Control, since: Millis, attempts: int) -> Came:
    """The new version goes in first and the old ones end after it, so that nothing is lost in
    between; of versions that race, the newest stays, unless the post is removed by then."""
    edited = asked.inbound
    if edited is None or asked.post is None:
        return settle(means, asked, "unsupported", "edit:nothing-said")
    ref = await means.entrance.session_at(edited.place, asked.event_id)
    held, gone = await _held(means, edited.place), await _is_deleted(means, asked.post)
    versions = await _versions(means, ref, asked.post)
    if edited.turn_id not in {turn.turn_id for turn in versions}:
        if gone:
            return settle(means, asked, "not_addressed", "removed-first")
        if not versions:
            return _not_in(means, attempts) if held else _not_yet(means, asked, since)
        if max(turn.turn_id for turn in versions) > edited.turn_id:
            return settle(means, asked, "accepted", "edit:superseded")
        unfinished = {turn.turn_id for turn in versions if turn.state in OPEN_STATES}
        if not unfinished:
            return settle(means, asked, "accepted", "edit:changes-nothing")
        edited = replace(edited, event_id=asked.event_id)
        busy = await _enter(means, ref, edited, unfinished, attempts)
        if busy is not None:
            return busy
        versions = await _versions(means, ref, asked.post)
        gone = await _is_deleted(means, asked.post)  # by somebody who didn't see this version
    newest = "" if gone else max(turn.turn_id for turn in versions)
    for turn in versions:
        if turn.state in OPEN_STATES and turn.turn_id != newest:
            session = means.runtime.session(ref.agent, ref.key)
            await session.cancel(turn.turn_id, reason="requested" if gone else "replaced")
    return Settled()  # its verdict came with the turn


async def _enter(
    means: Means, ref: SessionRef, edited: Inbound, passing: set[str], attempts: int
) -> Came | None:
    letter = Letter(
        inbound=edited,
        rule="edit:replaced",
        ref=ref,
        replace=False,
        revises=True,
        passing=passing,
    )
    entered = await means.entrance.enter(letter)
    if entered.outcome == "busy":
        return Later(retry_at(attempts, means.clock.now()), "the host takes no turns now")
    if entered.outcome == "refused":
        made = entered.made
        return settle(means, edited, made.word, made.rule, say=made.said)
    return None


async def _delete(means: Means, asked: Control, since: Millis) -> Came:
    if asked.post is None or asked.place is None:
        return settle(means, asked, "unsupported", "delete:nothing-said")
    ref = await means.entrance.session_at(asked.place, asked.event_id)
    await _take(means, keys.deleted(asked.post))
    versions = await _versions(means, ref, asked.post)
    if not versions:
        # What is held isn't let in any more, unless it came in just now.
        await _take(means, keys.in_or_gone(asked.post))
        versions = await _versions(means, ref, asked.post)
    if not versions:
        return _not_yet(means, asked, since)
    unfinished = [turn for turn in versions if turn.state in OPEN_STATES]
    for turn in unfinished:
        await means.runtime.session(ref.agent, ref.key).cancel(turn.turn_id)
    if not unfinished:
        return settle(means, asked, "accepted", "delete:changes-nothing", turn=versions[0].row)
    return settle(means, asked, "accepted", "delete:cancelled", turn=unfinished[0].row)


async def _take(means: Means, key: str) -> None:
    with suppress(DuplicateClaimError):
        await means.runtime.store.ledger.note(keys.claims([key], means.clock.now()))


async def _is_deleted(means: Means, post: str) -> bool:
    ask = Asked(source=means.source, event_id="", keys=(keys.deleted(post),))
    return bool((await means.runtime.store.ledger.known(ask)).claims)


def _not_in(means: Means, attempts: int) -> Later:
    soon = retry_at(min(attempts, SOON), means.clock.now())
    return Later(soon, "the message isn't let in yet")


def _not_yet(means: Means, asked: Control, since: Millis) -> Came:
    """The post itself may come in after what was done to it."""
    at = next_look(since, means.clock.now())
    if at is not None:
        return Later(at, "the message isn't known yet")
    return settle(means, asked, "not_addressed", f"{asked.kind}:no-turn")


async def _held(means: Means, place: Place) -> bool:
    """Whether a message of this place waits to be let in; to be asked before its turns are."""
    ledger = means.runtime.store.ledger
    found = await ledger.verdicts(source=means.source, place=place.key, limit=VERSIONS)
    return any(one.verdict == "held" for one in found)


async def _versions(means: Means, ref: SessionRef, post: str) -> list[TurnRecord]:
    """The turns of a post: its own, and one for each edit, whose id goes on behind the post's. Later
    ones sort behind."""
    found = await means.runtime.store.list_turns(ref=ref, limit=VERSIONS)
    return [
        one.turn
        for one in found
        if one.turn.turn_id == post or one.turn.turn_id.startswith(f"{post}:")
    ]


# -- looks at a request --------------------------------------------------------------------------------------
async def _look(means: Means, asked: Control, since: Millis) -> Came:
    request = asked.reply.get(REQUEST)
    store = means.runtime.store
    found = await store.find_request(request) if isinstance(request, str) else None
    known = found is not None and found.ref.agent == means.agent
    if found is not None and known and asked.post is not None:
        shown = await stands_for(means, asked.post, found, since)
        if isinstance(shown, Later):
            return shown
        known = shown
    if found is None or not known:
        told = deciding.NOT_NEEDED if found is None else deciding.NOT_HERE
        return settle(means, asked, "policy", "forged-answer", say=told)
    card = await read_card(store, found.request.id)
    if card is None or (asked.kind == "form" and card.outcome is not None):
        told = deciding.NOT_NEEDED
        return settle(means, asked, "accepted", "no-longer-needed", say=told)
    await means.channel.act(asked, card)
    return settle(means, asked, "accepted", f"{asked.kind}:opened")
