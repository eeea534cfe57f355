"""How a command reaches a gateway: the same calls over HTTP or on the store itself.

Records are the API's own JSON, so that ``--json`` prints the same whichever way was taken.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from gateway.engine.kinds import Json, JsonObject


class Desk(Protocol):
    """One gateway, seen by one person. Lists come newest first, approvals oldest first."""

    @property
    def where(self) -> str:
        """What it talks to, for people: a URL or a store."""
        ...

    @property
    def keeps(self) -> bool:
        """Whether what waits for a person outlives this command."""
        ...

    async def status(self) -> JsonObject: ...

    async def agents(self) -> list[JsonObject]: ...

    async def sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[JsonObject]: ...

    async def turns(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]: ...

    async def approvals(self, *, limit: int = 50) -> list[JsonObject]: ...

    async def approval(self, id: str) -> JsonObject:  # noqa: A002
        """One request by its whole id, also when it was answered: then with who and how."""
        ...

    async def audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[JsonObject]: ...

    async def verdicts(
        self,
        *,
        event: str | None = None,
        place: str | None = None,
        turn_id: str | None = None,
        source: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        """How events were judged, the latest first: ``source``, ``event``, ``verdict``, ``rule``,
        ``place``, ``speaker``, ``agent``, ``session``, ``turn_id``, ``said``, ``copies``, ``at``."""
        ...

    async def deliveries(
        self, *, state: str | None = None, turn_id: str | None = None, limit: int = 50
    ) -> list[JsonObject]: ...

    async def delivery(self, id: int) -> JsonObject:  # noqa: A002
        ...

    async def retry_delivery(self, id: int) -> JsonObject:  # noqa: A002
        """Make a dead delivery due again; as it is then."""
        ...

    async def schedules(self) -> list[JsonObject]:
        """Each schedule by name: ``cron``, ``timezone``, ``target``, ``next``, ``paused_by``,
        ``problem``, and ``last`` with its turn and its delivery."""
        ...

    async def run_schedule(self, name: str) -> JsonObject:
        """Fire it now. Its ``turn_id`` and ``session``; ``None`` both if it had nothing to ask."""
        ...

    async def pause_schedule(self, name: str) -> JsonObject:
        """The schedule as it is then."""
        ...

    async def resume_schedule(self, name: str) -> JsonObject: ...

    async def mail(self, *, held: bool = False, limit: int = 50) -> list[JsonObject]:
        """Mail, the latest first; ``held``: what waits for an operator."""
        ...

    async def read_mail(self, event: str, *, again: bool = False) -> JsonObject:
        """One mail, whole. ``again``: and as ``now`` what would be judged now."""
        ...

    async def raw_mail(self, event: str) -> bytes: ...

    async def admit_mail(self, event: str) -> JsonObject:
        """Let it in: ``event``, ``session`` and ``turn_id`` that it will be, ``held_for``."""
        ...

    async def conversation(self, key: str) -> JsonObject:
        """``people`` who take part in it, and as ``taken_over`` who of ours speaks in it."""
        ...

    async def hand_back(self, key: str) -> JsonObject:
        """The agent speaks again; ``was``: who spoke before."""
        ...

    async def users(self) -> list[JsonObject]:
        """Who may sign in to the operators' pages: ``name``, ``identity``, ``role``, ``state``,
        ``recovery_codes``, ``made``, ``last_sign_in``."""
        ...

    async def change_user(self, name: str, do: str, role: str | None = None) -> JsonObject:
        """``do`` is ``add``, ``role``, ``disable``, ``enable`` or ``reset``. The user as it is then,
        and as ``link`` the path that invites them, if one does."""
        ...

    async def sign_in_link(self) -> JsonObject:
        """As ``link`` the path of a new link into the pages of ``gateway dev``, for one use."""
        ...

    async def decide(
        self, request: JsonObject, value: Json, *, reason: str | None = None
    ) -> JsonObject:
        """Answer a request as it was shown: its digest goes with the answer. Tells ``decided``,
        ``outcome``, ``votes``, ``quorum``."""
        ...

    async def start(
        self, agent: str, session: str, message: str, *, turn_id: str | None = None
    ) -> str:
        """Open a turn; its id, once the turn is committed."""
        ...

    def follow(
        self, agent: str, session: str, turn_id: str, *, after: int = 0
    ) -> AsyncIterator[JsonObject]:
        """A turn's events after a cursor until it rests: ended, or parked."""
        ...

    async def snapshot(self, agent: str, session: str, turn_id: str) -> JsonObject: ...

    async def logged(self, agent: str, session: str, turn_id: str) -> list[JsonObject]:
        """A turn's durable events so far."""
        ...

    async def transcript(self, agent: str, session: str) -> list[JsonObject]: ...

    async def cancel(self, agent: str, session: str, turn_id: str) -> None: ...

    async def reset(self, agent: str, session: str) -> JsonObject: ...
