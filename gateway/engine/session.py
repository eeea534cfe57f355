"""The public handle of one conversation. Make it where you use it; it holds nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Literal

from gateway.engine.decisions import admission, park
from gateway.engine.decisions.admission import (
    Acceptance,
    Ended,
    Replace,
    ViewChanged,
)
from gateway.engine.decisions.attempts import Begun, Entered, enter
from gateway.engine.decisions.closing import error_record
from gateway.engine.decisions.keys import check_key, new_turn_id
from gateway.engine.decisions.opening import open_with
from gateway.engine.errors import (
    BusyError,
    NotFoundError,
    SessionSuspendedError,
    StoreUnavailableError,
    TooLargeError,
)
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import CancelReason, Json, SessionRef, SessionStatus, Speaker
from gateway.engine.loop.actor import Actor
from gateway.engine.loop.keeper import Keeper
from gateway.engine.loop.observing import observe
from gateway.engine.loop.result import turn_result
from gateway.engine.messages import Message
from gateway.engine.outcomes import (
    Answered,
    Grant,
    PendingInput,
    Reset,
    Started,
    TurnInput,
    TurnResult,
    TurnSnapshot,
)
from gateway.engine.ports import Subscription
from gateway.engine.records import (
    Ask,
    RequestRecord,
    RequestSummary,
    TurnRecord,
)
from gateway.engine.wire import message_from

AskAgain = Callable[[], Awaitable[Ended]]


class Session:
    """Everything that can be done with one session. All methods raise ``StoreUnavailableError``
    when the store can't answer now."""

    def __init__(self, runtime: Keeper, ref: SessionRef) -> None:
        self._runtime = runtime
        self.ref = ref

    @property
    def _actor(self) -> Actor:
        return self._runtime.actor(self.ref)

    # -- starting ------------------------------------------------------------------------------------
    async def start(
        self,
        input: TurnInput,  # noqa: A002 - the contract's word
        *,
        replace: Replace = False,
        when_suspended: Literal["raise", "queue"] = "raise",
    ) -> Started:
        """Accept a turn: when this returns, it is committed and will run.

        Raises ``TurnIdConflict``, ``SessionSuspendedError``, ``BusyError``, ``TooLargeError``,
        ``InvalidInputError``, ``DuplicateClaimError``; nothing is claimed then.
        """
        asked = self._acceptance(input, replace, when_suspended)
        # Whoever asked may leave while the store writes: what was accepted runs all the same.
        return await self._runtime.deciding.to_the_end(
            self._enter(asked), f"start of {asked.turn_id}"
        )

    async def _enter(self, asked: Acceptance) -> Started:
        runtime, actor = self._runtime, self._actor
        actor.starting += 1
        taker = await actor.offer()
        begun: Begun | None = None

        try:
            lock: Literal["mailbox", "session"] = "mailbox" if taker is None else "session"
            ask = Ask(lock=lock, turn_id=asked.turn_id, create=True)
            decide = partial(enter, ref=self.ref, asked=asked, by=taker)
            entered: Entered = await runtime.store.amend(self.ref, ask, decide)
            begun, accepted = entered.begun, entered.accepted
            if accepted.started.created and asked.failed is None:
                actor.live.add(asked.turn_id)
                actor.stand(accepted.started.position)
            await self._told(accepted.events, accepted.ended, accepted.interrupt, "replaced")
        except StoreUnavailableError as error:
            runtime.store_failed(error)
            raise
        finally:
            actor.starting -= 1
            actor.wake(begun, offered=taker is not None)
        return accepted.started

    def _acceptance(
        self, given: TurnInput, replace_: Replace, when_suspended: Literal["raise", "queue"]
    ) -> Acceptance:
        runtime = self._runtime
        if runtime.draining:
            raise BusyError("this host is stopping and takes no new turns", fix="try again")
        if runtime.queued() >= runtime.limits.queue_per_host:
            raise BusyError("too many turns wait on this host", fix="try again later")
        turn_id = new_turn_id() if given.turn_id is None else given.turn_id
        check_key(turn_id, "turn_id")
        opening = open_with(given)
        body, content = opening.body(), opening.content()
        limit = runtime.limits.message_bytes
        size = len(body) + len(content)
        if size > limit // 4 and len(body.encode()) + len(content.encode()) > limit:
            raise TooLargeError(f"the message is over {limit} bytes", fix="send less, or a file")
        return Acceptance(
            turn_id=turn_id,
            opening=opening,
            body=body,
            content=content,
            content_hash=opening.content_hash(content),
            replace=replace_,
            when_suspended=when_suspended,
            deliver=given.deliver,
            companions=given.companions,
            failed=given.failed,
            queue_limit=runtime.limits.queue_per_session,
            now=runtime.clock.now(),
        )

    async def turn(
        self,
        input: TurnInput,  # noqa: A002
        *,
        replace: Replace = False,
    ) -> TurnResult:
        """Start and wait. Raises ``SessionSuspendedError`` if the turn parks: it isn't
        interactive."""
        started = await self.start(input, replace=replace)
        result = await self.result(started.turn_id)
        if result.status == "suspended":
            asked = "" if result.request is None else f" ({result.request.prompt})"
            raise SessionSuspendedError(
                f"the turn waits for a person's answer{asked}",
                fix="use start() and result(), then resume() with the answer",
            )
        return result

    # -- waiting and watching --------------------------------------------------------------------------
    async def result(self, turn_id: str) -> TurnResult:
        """Wait until the turn rests: ended, or parked on ``request``."""
        runtime = self._runtime
        while True:
            actor = self._actor
            future = actor.waiter(turn_id)
            try:
                if turn_id not in actor.live:
                    record = await self._record(turn_id)
                    if record.state not in {"queued", "running"}:
                        request = await self._request_of(record)
                        return turn_result(record, request, await self._answer_of(record))
                async with asyncio.timeout(runtime.poll):
                    return await future
            except TimeoutError:
                actor.live.discard(turn_id)
            finally:
                actor.forget(turn_id, future)

    def listen(self, turn_id: str) -> AbstractAsyncContextManager[Subscription]:
        """Hear a turn that is yet to be started, for an ``observe`` that misses no live text."""
        return self._runtime.sink.subscribe(self.ref, turn_id)

    def observe(
        self, turn_id: str, *, after: int = 0, live: Subscription | None = None
    ) -> AsyncIterator[TurnEvent]:
        """Logged events after the cursor, then live ones; nothing missing, nothing twice. Ends
        after the terminal event; stays open over a park."""
        return observe(self._runtime, self.ref, turn_id, after, live)

    async def _record(self, turn_id: str) -> TurnRecord:
        record = await self._runtime.store.turn(self.ref, turn_id)
        if record is None:
            raise NotFoundError(f"no turn {turn_id!r} in this session")
        return record

    async def _answer_of(self, record: TurnRecord) -> str:
        if record.answer is None:
            return ""
        rows = await self._runtime.store.messages(
            self.ref, record.generation, record.answer - 1, limit=1
        )
        return message_from(rows[0]).text

    async def _request_of(self, record: TurnRecord) -> RequestRecord | None:
        summary = await self._summary_of(record)
        return None if summary is None else summary.request

    async def _summary_of(self, record: TurnRecord) -> RequestSummary | None:
        if record.request is None or record.state != "suspended":
            return None
        return await self._runtime.store.find_request(record.request)

    # -- answering -------------------------------------------------------------------------------------
    async def grant(
        self, input_id: str, *, by: str, principal: Speaker | None = None
    ) -> Grant | None:
        """Ask the agent's ``authorize_answer`` hook; ``None`` if it refuses or the request names no
        policy. Raises ``AuthorizeHookError`` when the hook does; then nothing was applied."""
        return await self._runtime.grant(self.ref, input_id, by=by, principal=principal)

    async def resume(  # noqa: PLR0913 - the contract's own signature
        self,
        turn_id: str,
        input_id: str,
        value: Json,
        *,
        by: str | None = None,
        via: str | None = None,
        granted: Grant | None = None,
        reason: str | None = None,
        digest: str | None = None,
    ) -> Answered:
        """Answer the request a turn is parked on. ``by`` must be an identity you verified,
        or one that ``via`` (``api:<token>``) vouches for; both are stored.

        Raises, in this order: ``StaleAnswerError`` / ``AlreadyAnsweredError`` (409),
        ``ResumeAuthorizationError`` (403), ``InvalidInputError`` (422).
        """
        answer = park.Answer(
            turn_id=turn_id,
            input_id=input_id,
            value=value,
            by=by,
            via=via,
            granted=granted,
            issuer=self._runtime,
            reason=reason,
            digest=digest,
            now=self._runtime.clock.now(),
        )
        return await self._runtime.deciding.to_the_end(
            self._decide(answer), f"answer to {input_id}"
        )

    async def _decide(self, answer: park.Answer) -> Answered:
        ask = Ask(turn_id=answer.turn_id, request=answer.input_id)
        decide = partial(park.decide_answer, ref=self.ref, answer=answer)
        outcome = await self._runtime.store.amend(self.ref, ask, decide)
        await self._runtime.publish(self.ref, outcome.events)
        if outcome.resumed:
            actor = self._actor
            actor.live.add(answer.turn_id)
            actor.wake()
        return outcome.answered

    async def pending(self) -> PendingInput | None:
        """The request the session is parked on."""
        turns = await self._runtime.store.list_turns(ref=self.ref, state="suspended", limit=1)
        for found in turns:
            summary = await self._summary_of(found.turn)
            if summary is not None:
                return park.pending_input(summary.request, summary.votes)
        return None

    # -- ending ----------------------------------------------------------------------------------------
    async def cancel(
        self, turn_id: str, reason: Literal["requested", "replaced"] = "requested"
    ) -> None:
        """Ask that a turn end; a queued or parked one ends at once, an ended one stays as it is.
        ``replaced`` tells whoever sees it that something newer stands in its place."""
        await self._runtime.deciding.to_the_end(
            self._cancel(turn_id, reason), f"cancel of {turn_id}"
        )

    async def _cancel(self, turn_id: str, reason: Literal["requested", "replaced"]) -> None:
        now = self._runtime.clock.now()

        async def ask() -> Ended:
            record = await self._record(turn_id)
            wanted = Ask(turn_id=turn_id, tail=True, request=record.request)
            decide = partial(
                admission.cancel, ref=self.ref, turn_id=turn_id, reason=reason, now=now
            )
            return await self._runtime.store.amend(self.ref, wanted, decide)

        ended = await self._until_seen(ask)
        actor = self._actor
        actor.stand(max(0, actor.behind - len(ended.ended)))
        await self._told(ended.events, ended.ended, ended.interrupt, reason)
        self._actor.wake()

    async def reset(self) -> Reset:
        """Cancel everything, a park included, and start an empty generation. Returns once done."""
        actor = self._actor
        waiting = actor.reset_waiter()
        try:
            ended = await self._runtime.deciding.to_the_end(self._reset(), "reset")
            return await self._runtime.reset_done(self.ref, waiting, ended.generation)
        finally:
            actor.forget_reset(waiting)

    async def _reset(self) -> Ended:
        now = self._runtime.clock.now()

        async def ask() -> Ended:
            request = await self._open_request_id()
            wanted = Ask(head=True, tail=True, create=True, request=request)
            decide = partial(admission.reset, ref=self.ref, now=now)
            return await self._runtime.store.amend(self.ref, wanted, decide)

        ended = await self._until_seen(ask)
        actor = self._actor
        actor.stand(0)
        await self._told(ended.events, ended.ended, ended.interrupt, "reset")
        if ended.reset is not None:
            actor.was_reset(ended.reset)
        actor.wake()
        return ended

    async def _open_request_id(self) -> str | None:
        turns = await self._runtime.store.list_turns(ref=self.ref, state="suspended", limit=1)
        return turns[0].turn.request if turns else None

    @staticmethod
    async def _until_seen(ask: AskAgain) -> Ended:
        """Ask again while the park changes between reading it and locking it."""
        for _ in range(8):
            try:
                return await ask()
            except ViewChanged:
                continue
        return await ask()

    async def _told(
        self,
        events: Sequence[TurnEvent],
        ended: Sequence[str],
        interrupt: Sequence[str],
        reason: CancelReason,
    ) -> None:
        """After the commit: tell watchers, wake waiters, hurry the turn that is being cancelled."""
        actor = self._actor
        for turn_id in interrupt:
            actor.interrupt(turn_id, reason)
        await self._runtime.publish(self.ref, events)
        for turn_id in ended:
            actor.live.discard(turn_id)
            actor.rested(TurnResult(turn_id=turn_id, status="cancelled", error={"reason": reason}))

    # -- reading ---------------------------------------------------------------------------------------
    async def status(self) -> SessionStatus:
        return await self._runtime.status(self.ref)

    async def transcript(self, *, generation: int | None = None) -> Sequence[Message]:
        """Messages of the live generation, or of an archived one."""
        store = self._runtime.store
        row = await store.session(self.ref)
        if row is None:
            return ()
        wanted = row.generation if generation is None else generation
        if not 0 <= wanted <= row.generation:
            raise NotFoundError(f"session {self.ref.key!r} has no generation {wanted}")
        return [message_from(found) for found in await store.messages(self.ref, wanted)]

    async def snapshot(self, turn_id: str) -> TurnSnapshot:
        """A turn as it stands now."""
        record = await self._record(turn_id)
        usage = dict(await self._runtime.store.usage_totals(record.row))
        cost = usage.pop("cost", None)
        summary = await self._summary_of(record)
        return TurnSnapshot(
            turn_id=turn_id,
            state=record.state,
            text=await self._answer_of(record),
            error=error_record(record),
            request=None if summary is None else park.pending_input(summary.request, summary.votes),
            usage=usage,
            cost=None if cost is None else str(cost),
            last_seq=record.last_seq,
            queued_at=record.queued_at,
            started_at=record.started_at,
            ended_at=record.ended_at,
        )
