"""What a tool sees of the turn it runs in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

from gateway.engine.decisions.answerers import answerers_for
from gateway.engine.decisions.keys import request_digest
from gateway.engine.decisions.opening import Opening
from gateway.engine.decisions.park import RequestBody, request_body, request_key
from gateway.engine.errors import InputExpired, InputRequestError
from gateway.engine.kinds import Json, JsonObject, Millis, Outcome, Speaker
from gateway.engine.messages import ToolCall
from gateway.engine.records import RequestRecord, SqlHandle
from gateway.engine.schema import check_value, parse_value, to_json, value_schema
from gateway.engine.steps.asking import Asking
from gateway.engine.steps.signals import Parked
from gateway.engine.struct import struct
from gateway.engine.wire import clean

NAME_CHARACTERS = 256
EXPIRY_SECONDS = 100 * 365 * 86_400


class _Unset:
    """Marks an argument that was not given: ``None`` is a value of its own."""


UNSET = _Unset()


@struct(frozen=True, slots=True)
class Decision:
    """A person's answer in full. ``by`` is the verified identity, ``at`` milliseconds UTC."""

    outcome: Outcome
    value: Json
    reason: str | None
    by: str | None
    at: Millis

    def as_json(self) -> JsonObject:
        return {
            "outcome": self.outcome,
            "value": self.value,
            "reason": self.reason,
            "by": self.by,
            "at": self.at,
        }


@dataclass(slots=True)
class StoreAccess:
    """The store as a sync tool reaches it; its writes commit with the step, or not at all."""

    dialect: str
    handle: SqlHandle | None = None
    local: bool = False

    def unwrap(self) -> SqlHandle | None:
        """The guarded handle, valid during this call only; ``None`` on the memory store."""
        if not self.local:
            raise InputRequestError(
                "only a `def` tool has the store's handle: its writes commit with the step",
                fix="move the write into a tool declared with plain `def`",
            )
        return self.handle


@dataclass(slots=True, kw_only=True)
class CallScene:
    """The engine's side of one call: what its context may look up, and what it left behind."""

    agent: str
    session: str
    turn_id: str
    call: ToolCall
    position: int
    tool: str
    opening: Opening
    trigger: str
    services: object
    idempotency_key: Callable[[], str]
    attempt: int
    store: StoreAccess
    answers: Mapping[str, RequestRecord]
    now: Callable[[], Millis]
    tell_progress: Callable[[str], None]
    remote: bool
    request_bytes: int
    gate: JsonObject | None = None
    """The taint gate's answerers, when it stopped this call and one of them let it run."""
    parked: asyncio.Future[None] | None = None
    request: RequestParts | None = None
    decision: Decision | None = None
    asked: dict[str, str] = field(default_factory=dict[str, str])
    """Key → digest of every request that the call has made since it began this time."""
    closed: bool = False
    asking: list[str | None] = field(default_factory=list["str | None"])
    """Requests that the tool made, ``None`` once awaited: until then nobody is asked."""


@struct(frozen=True, slots=True, kw_only=True)
class RequestParts:
    """A request that has to be parked on."""

    name: str
    key: str
    body: RequestBody
    digest: str
    expires_at: Millis | None


@dataclass(slots=True, eq=False)
class ToolContext:
    """What a tool gets as its first parameter."""

    _scene: CallScene = field(repr=False)

    @property
    def _open(self) -> CallScene:
        """The scene, unless the call is over or parked: then the context refuses everything."""
        scene = self._scene
        if scene.request is not None:
            raise Parked
        if scene.closed:
            raise InputRequestError(
                "this call is over; its context can't be used any more",
                fix="await everything the tool starts before it returns",
            )
        return scene

    @property
    def agent(self) -> str:
        return self._open.agent

    @property
    def session(self) -> str:
        return self._open.session

    @property
    def turn_id(self) -> str:
        return self._open.turn_id

    @property
    def source(self) -> str:
        return self._open.opening.source

    @property
    def trigger(self) -> str:
        return self._open.trigger

    @property
    def speaker(self) -> Speaker | None:
        return self._open.opening.speaker

    @property
    def event(self) -> JsonObject | None:
        return self._open.opening.event

    @property
    def services(self) -> Any:  # noqa: ANN401 - the author's own type
        """What ``Agent(services=…)`` built."""
        return self._open.services

    @property
    def store(self) -> StoreAccess:
        return self._open.store

    @property
    def idempotency_key(self) -> str:
        """Stable over replays of this call; for a ``money`` tool, of its business key."""
        return self._open.idempotency_key()

    @property
    def attempt(self) -> int:
        """How often this call was started, this time included."""
        return self._open.attempt

    @property
    def decision(self) -> Decision | None:
        """The whole record of the answer that ``request_input`` returned last."""
        return self._open.decision

    def progress(self, text: str) -> None:
        """Tell watchers how far the call is. Live only, never stored."""
        self._open.tell_progress(clean(text)[:2000])

    def spawn(self, name: str) -> None:
        """Sub-agents aren't part of this release; raises ``InputRequestError``."""
        raise InputRequestError(
            f"sub-agents aren't supported yet, so {name!r} can't be spawned",
            fix="do the work in a tool of this agent",
        )

    def request_input(
        self,
        *,
        id: str,  # noqa: A002 - the contract's word
        prompt: str,
        schema: object = bool,
        answerers: Mapping[str, object] | None = None,
        expires_in: timedelta | float | None = None,
        on_expiry: object = UNSET,
    ) -> Asking:
        """Ask a person, and wait for days if need be.

        The first call parks the turn; when the answer is in, the tool runs again from the top and
        this returns it. Put effects after it. ``schema`` is a Python type or a JSON schema,
        ``expires_in`` a ``timedelta`` or seconds; past it, ``on_expiry`` is returned, or
        ``InputExpired`` raised when there is none. Raises ``InputRequestError`` when the request
        can't work: in a ``def`` tool, with nobody to answer, with a value that doesn't fit.
        """
        # Before anything is awaited: in a ``def`` tool nothing ever would be, and a coroutine that
        # nobody awaits is true.
        scene = self._scene
        _refuse_local(scene)
        place = len(scene.asking)
        scene.asking.append(str(id))
        ask = partial(
            self._request_input,
            id, prompt, schema, answerers, expires_in=expires_in, on_expiry=on_expiry,
        )  # fmt: skip
        return Asking(str(id), ask, partial(scene.asking.__setitem__, place, None))

    async def _request_input(
        self,
        name: str,
        prompt: str,
        schema: object,
        answerers: Mapping[str, object] | None,
        *,
        expires_in: timedelta | float | None,
        on_expiry: object,
    ) -> Any:  # noqa: ANN401 - the type that ``schema`` names
        scene = self._open
        asked = build_request(
            scene,
            name=name,
            prompt=prompt,
            schema=schema,
            answerers=answerers,
            expires_in=expires_in,
            on_expiry=on_expiry,
        )
        _refuse_two_of_one_id(scene, asked)
        if schema is bool and scene.gate == asked.body.answerers:
            scene.gate = None  # one answer counts for one request
            return True
        answer = scene.answers.get(asked.key)
        if answer is None or answer.outcome is None or answer.digest != asked.digest:
            park(scene, asked)
        return answered(scene, answer, schema)


def _refuse_local(scene: CallScene) -> None:
    if not scene.remote:
        raise InputRequestError(
            "a `def` tool can't wait for a person: it commits inside a transaction",
            fix=f"declare {scene.tool} with `async def`",
        )


def build_request(  # noqa: PLR0913 - the parts of one request, all by name
    scene: CallScene,
    *,
    name: str,
    prompt: str,
    schema: object,
    answerers: Mapping[str, object] | None,
    expires_in: timedelta | float | None = None,
    on_expiry: object = UNSET,
) -> RequestParts:
    _check_words(name, prompt)
    form = value_schema(schema)
    spelled = answerers_for(answerers, scene.opening)
    fallback: tuple[Json] | None = None
    if not isinstance(on_expiry, _Unset):
        fallback = (to_json(on_expiry),)
        if problem := check_value(form, fallback[0]):
            raise InputRequestError(
                f"on_expiry doesn't fit the schema: {problem}", fix="give a value that fits it"
            )
    body = RequestBody(
        prompt=clean(prompt),
        schema=form,
        answerers=spelled,
        arguments=scene.call.input,
        on_expiry=fallback,
    )
    if len(body.body().encode()) > scene.request_bytes:
        raise InputRequestError(
            f"the request for input is over {scene.request_bytes} bytes",
            fix="ask for less in one request: a shorter prompt, smaller arguments",
        )
    seconds = _seconds(expires_in)
    return RequestParts(
        name=name,
        key=request_key(scene.turn_id, scene.position, scene.call.id, name),
        body=body,
        digest=request_digest(scene.tool, scene.call.input, body.prompt, form, spelled),
        expires_at=None if seconds is None else Millis(scene.now() + int(seconds * 1000)),
    )


def _check_words(name: object, prompt: object) -> None:
    # Authors don't all run a type checker, so what the hints promise is checked here as well.
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS or clean(name) != name:
        raise InputRequestError(
            f"a request needs an id: a text of 1 to {NAME_CHARACTERS} characters",
            fix='pass id="approve-…"',
        )
    if not isinstance(prompt, str):
        raise InputRequestError(
            f"the prompt of a request is text, not {type(prompt).__name__}",
            fix='pass prompt="…?", what the person reads',
        )


def _seconds(expires_in: object) -> float | None:
    if expires_in is None:
        return None
    seconds = expires_in.total_seconds() if isinstance(expires_in, timedelta) else expires_in
    if (
        not isinstance(seconds, int | float)
        or isinstance(seconds, bool)
        or not 0 < seconds <= EXPIRY_SECONDS
    ):
        raise InputRequestError(
            f"expires_in must be above 0 and at most {EXPIRY_SECONDS} seconds",
            fix="pass seconds or a timedelta, or leave it out to wait for ever",
        )
    return float(seconds)


def _refuse_two_of_one_id(scene: CallScene, asked: RequestParts) -> None:
    """Each would void the other's answer, and people would be asked without end."""
    if scene.asked.setdefault(asked.key, asked.digest) != asked.digest:
        raise InputRequestError(
            f"two different requests of one call share the id {asked.name!r}",
            fix='give each an id of its own, such as id=f"refund-{order_id}"',
        )


def park(scene: CallScene, asked: RequestParts) -> NoReturn:
    """Mark the call as parked, for good, and leave it. The mark decides; the signal only hurries."""
    scene.request = asked
    if scene.parked is not None and not scene.parked.done():
        scene.parked.set_result(None)
    raise Parked


def answered(scene: CallScene, answer: RequestRecord, schema: object) -> Any:  # noqa: ANN401
    value = loads_value(answer.value)
    body = request_body(answer.body)
    if answer.outcome == "expired":
        scene.decision = Decision("expired", value, None, answer.by, Millis(answer.decided_at or 0))
        if body.on_expiry is None:
            raise InputExpired("nobody answered in time, so nothing was done")
        return parse_value(schema, body.on_expiry[0])
    scene.decision = Decision(
        answer.outcome or "answered",
        value,
        answer.reason,
        answer.by,
        Millis(answer.decided_at or 0),
    )
    return parse_value(schema, value)


def loads_value(value: str | None) -> Json:
    loaded: Json = None if value is None else json.loads(value)
    return loaded
