"""Rows and short cuts for the store suite: one session, its turns, an attempt that writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from gateway.engine.kinds import Millis, Role, SessionRef, TurnRow, TurnState
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    NEW_TURN,
    Ask,
    Audit,
    CancelMark,
    Claim,
    Companion,
    EditionRow,
    EventRow,
    Fence,
    LocalCall,
    MessageRow,
    Plan,
    RequestRecord,
    Reservation,
    SessionPatch,
    SessionView,
    SqlHandle,
    StepRow,
    TurnRecord,
    UsageRow,
    VoteRow,
    Writes,
)

REF = SessionRef("june", "slack:T1:C1:1700000000.000100")
OTHER = SessionRef("june", "web:visitor-7")
T0 = Millis(1_700_000_000_000)
PATIENCE = 20.0
"""Seconds a test waits before it believes that nothing comes."""


class Reopen(Protocol):
    """Close the store and open another one on the same data, as a restarted process would."""

    async def __call__(self) -> SessionStore: ...


Restamp = Callable[[int], Awaitable[None]]
"""Set the schema version that the closed store's data claims to have."""


def at(offset: int) -> Millis:
    return Millis(T0 + offset)


def draft(view: SessionView, turn_id: str = "t1", body: str = '{"v":1}') -> TurnRecord:
    """A new turn as acceptance makes it: numbered by the mailbox it was shown."""
    assert view.session is not None
    return TurnRecord(
        row=NEW_TURN,
        turn_id=turn_id,
        number=view.session.next_number,
        generation=view.session.generation,
        body=body,
        content='{"v":1,"blocks":[]}',
        content_hash=f"hash-of-{turn_id}",
        source="slack",
        speaker="slack:T1:U1",
        queued_at=T0,
    )


async def accept(
    store: SessionStore,
    ref: SessionRef = REF,
    turn_id: str = "t1",
    *,
    body: str = '{"v":1}',
    companions: tuple[Companion, ...] = (),
) -> TurnRecord:
    def decide(view: SessionView) -> Plan[None]:
        return Plan(None, Writes(new_turn=draft(view, turn_id, body), companions=companions))

    await store.amend(ref, Ask(lock="mailbox", create=True), decide)
    record = await store.turn(ref, turn_id)
    assert record is not None
    return record


async def attempt(store: SessionStore, ref: SessionRef = REF, owner: str = "host-a") -> Fence:
    """Raise the epoch, as every attempt does before it reads anything."""

    def decide(view: SessionView) -> Plan[Fence]:
        assert view.session is not None
        epoch = view.session.epoch + 1
        patch = SessionPatch(epoch=epoch, owner=owner)
        return Plan(Fence(view.session.id, epoch), Writes(session=patch))

    return await store.amend(ref, Ask(), decide)


async def begin(
    store: SessionStore, ref: SessionRef = REF, turn_id: str = "t1"
) -> tuple[TurnRecord, Fence]:
    """An accepted turn and the attempt that drives it; the opening isn't appended yet."""
    turn = await accept(store, ref, turn_id)
    fence = await attempt(store, ref)
    turn = replace(turn, state="running", started_at=at(1), attempts=1)
    await store.commit(fence, Writes(turns=(turn,)))
    return turn, fence


async def save(
    store: SessionStore,
    fence: Fence,
    turn: TurnRecord,
    state: TurnState,
    request: str | None = None,
) -> TurnRecord:
    turn = replace(turn, state=state, request=request)
    await store.commit(fence, Writes(turns=(turn,)))
    return turn


async def patch(store: SessionStore, change: SessionPatch, ref: SessionRef = REF) -> None:
    await store.amend(ref, Ask(), lambda _: Plan(None, Writes(session=change)))


async def look(store: SessionStore, ask: Ask | None = None, ref: SessionRef = REF) -> SessionView:
    """What a decision would be shown."""
    return await store.amend(ref, ask or Ask(), lambda view: Plan(view))  # noqa: PLW0108 - types


def message(
    turn: TurnRecord, index: int, body: str = '{"text":"hi"}', role: Role = "assistant"
) -> MessageRow:
    return MessageRow(generation=turn.generation, index=index, turn=turn.row, role=role, body=body)


def step(turn: TurnRecord, name: str, index: int | None = None, *, done: bool = True) -> StepRow:
    return StepRow(turn=turn.row, step=name, done=done, attempt=1, message=index, at=T0)


def event(
    turn: TurnRecord, seq: int, kind: str = "turn.started", ref: int | None = None
) -> EventRow:
    body = None if ref is not None else '{"v":1}'
    return EventRow(turn=turn.row, seq=seq, at=at(seq), type=kind, ref=ref, body=body)


def usage(turn: TurnRecord, index: int, cost: str | None = "0.001") -> UsageRow:
    return UsageRow(
        turn=turn.row,
        step=index,
        at=T0,
        model="scripted-1",
        input=100,
        output=20,
        cache_read=7,
        cache_write=3,
        cost=cost,
        prices="2026-01",
        raw='{"input_tokens":100}',
        estimated=False,
    )


def request(
    turn: TurnRecord, public: str = "r1", *, expires: Millis | None = None
) -> RequestRecord:
    return RequestRecord(
        id=public,
        key=f"input:{turn.turn_id}:1:c1:ok",
        turn=turn.row,
        turn_id=turn.turn_id,
        position=1,
        call_id="c1",
        name="ok",
        tool="refund",
        digest=f"digest-of-{public}",
        body='{"prompt":"Refund?"}',
        created_at=T0,
        expires_at=expires,
    )


def vote(public: str = "r1", by: str = "slack:T1:U2", value: str = "true") -> VoteRow:
    return VoteRow(request=public, by=by, value=value, reason=None, at=T0)


def claim(key: str, turn: TurnRow | None = NEW_TURN, *, now: int = 0, life: int = 1000) -> Claim:
    return Claim(key=key, turn=turn, at=at(now), expires_at=at(now + life))


def companions(turn: TurnRow, tag: str = "") -> tuple[Companion, ...]:
    """One row of every kind that no other field of ``Writes`` carries."""
    return (
        Claim(key=f"evt-{tag}", turn=turn, at=T0, expires_at=at(1000)),
        Audit(
            at=T0, kind="accept", agent="june", session=REF.key, turn_id="t1", subject="turn",
            by=None, digest=None, outcome="ok",
        ),
        Reservation(turn=turn, scope="day", amount="0.25", expires_at=at(1000)),
    )  # fmt: skip


def model_step(turn: TurnRecord, index: int, seq: int, body: str = '{"text":"hi"}') -> Writes:
    """What a model step commits: reply, step, usage, three events."""
    return Writes(
        messages=(message(turn, index, body),),
        steps=(step(turn, f"model:{index}", index),),
        usage=(usage(turn, index),),
        events=(
            event(turn, seq, "message.completed", index),
            event(turn, seq + 1, "action.requested", index),
            event(turn, seq + 2, "usage", index),
        ),
    )


def every_write(turn: TurnRecord) -> dict[str, Writes]:
    """One ``Writes`` per kind of row an attempt may write."""
    return {
        "session": Writes(session=SessionPatch(owner="thief", reset_at=T0)),
        "message": Writes(messages=(message(turn, 0),)),
        "step": Writes(steps=(step(turn, "model:0"),)),
        "usage": Writes(usage=(usage(turn, 0),)),
        "event": Writes(events=(event(turn, 1),)),
        "turn": Writes(turns=(replace(turn, state="completed", answer=3),)),
        "cancel": Writes(cancels=(CancelMark(turn=turn.row, reason="requested", at=T0),)),
        "request": Writes(requests=(request(turn, "r9"),)),
        "vote": Writes(votes=(vote("r1"),)),
        "edition": Writes(editions=(EditionRow(hash="e9", body="{}"),)),
        "companions": Writes(companions=companions(turn.row, "9")),
    }


class Tool:
    """A sync tool's call that remembers what it was settled with."""

    def __init__(
        self,
        run: Callable[[SqlHandle | None], object],
        settled: Writes | None = None,
        *,
        name: str = "note",
    ) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self.runs = 0
        self._run = run
        self._settled = settled or Writes()
        self.call = LocalCall(tool=name, turn_id="t1", run=self._ran, settle=self._settle)

    def _ran(self, handle: SqlHandle | None) -> object:
        self.runs += 1
        return self._run(handle)

    def _settle(self, result: object, error: BaseException | None) -> Writes:
        self.result, self.error = result, error
        return self._settled


def with_handle(run: Callable[[SqlHandle], object]) -> Callable[[SqlHandle | None], object]:
    """For tools that only make sense where the store has a handle."""

    def given(handle: SqlHandle | None) -> object:
        assert handle is not None
        return run(handle)

    return given


async def query(
    store: SessionStore, fence: Fence, sql: str, *parameters: object
) -> list[tuple[object, ...]]:
    """Run one statement as a sync tool would."""
    tool = Tool(with_handle(lambda handle: handle.execute(sql, parameters).fetchall()))
    await store.run_local(fence, tool.call)
    if tool.error is not None:
        raise tool.error
    assert isinstance(tool.result, list)
    return tool.result
