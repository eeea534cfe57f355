"""What operators do with mail that came in: what waits for them, what was judged and why, and letting it in.

The channel's clerk reads its mail; here is what a host knows of it beside that, for the API, the pages and
the command line alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from channels.contract import Clerk
from channels.protocol import Channel
from gateway.approvals.asking import KNOWN
from gateway.engine.errors import NotFoundError, RequestError
from gateway.engine.kinds import Json, JsonObject, Level
from gateway.engine.ledger import Ledger, VerdictRow
from gateway.engine.limits import Clock
from gateway.engine.records import Audit
from gateway.intake.admitting import admission
from gateway.intake.rules import BY_ITSELF, meaning
from gateway.outbox.listing import verdict_json

__all__ = ["MAIL", "Clerks", "NotHeldError", "known"]

MAIL = "email"
"""The channel whose mail it is."""
LIST = "gateway mail list"
MOST_ROWS = 600
_MAIL_ITSELF = re.compile("mail-[0-9a-z]+")


class NotHeldError(RequestError):
    """Only what is held needs somebody to let it in."""

    status = 409
    code = "not_held"


def _clerk(channels: Mapping[str, Channel], ledger: Ledger, clock: Clock) -> Clerk | None:
    make = getattr(channels.get(MAIL), "clerk", None)
    return None if make is None else cast("Callable[[Ledger, Clock], Clerk]", make)(ledger, clock)


class Clerks:
    """The mail of one agent. Everything raises ``StoreUnavailableError``, and ``NotFoundError`` for what
    isn't there."""

    def __init__(
        self, channels: Mapping[str, Channel], agent: str, ledger: Ledger, clock: Clock
    ) -> None:
        self._clerk = _clerk(channels, ledger, clock)
        self._agent = agent
        self._ledger = ledger
        self._clock = clock
        self._rows: dict[str, JsonObject] = {}

    @property
    def here(self) -> bool:
        return self._clerk is not None

    async def held(self, limit: int) -> list[VerdictRow]:
        """What waits for an operator, the latest first. What lets itself in is left out."""
        return await self._latest(limit, lambda row: row.rule not in BY_ITSELF, "held")

    async def all(self, limit: int) -> list[VerdictRow]:
        """Mail, the latest first; what followed from one, such as a colleague's stop, is no mail."""
        return await self._latest(limit, lambda row: bool(_MAIL_ITSELF.fullmatch(row.event_id)))

    async def rows(self, limit: int, *, held: bool = False) -> list[JsonObject]:
        """Mail, the latest first, each with what its bytes say where they are kept."""
        found = await (self.held(limit) if held else self.all(limit))
        return [await self.row(one) for one in found]

    async def row(self, found: VerdictRow) -> JsonObject:
        return _shown(found, await self.author(found.event_id))

    async def author(self, event: str) -> JsonObject | None:
        """Who wrote a mail that was judged, as its clerk tells it. Read once: a list is looked at every few
        seconds, and a mail may be long."""
        if event not in self._rows and self._clerk is not None:
            read = await self._clerk.read(event, whole=False)
            if read is None:
                return None
            self._rows[event] = read
            if len(self._rows) > MOST_ROWS:
                del self._rows[next(iter(self._rows))]
        return self._rows.get(event)

    async def show(self, event: str) -> JsonObject:
        row = await self._verdict(event)
        return _shown(row, await self._asked().read(row.event_id))

    async def raw(self, event: str) -> bytes:
        found = await self._asked().raw((await self._verdict(event)).event_id)
        if found is None:
            raise _forgotten(event)
        return found

    async def replay(self, event: str) -> JsonObject:
        """What was judged, and as ``now`` what would be. Changes nothing."""
        row = await self._verdict(event)
        found = await self._asked().replay(row.event_id)
        if found is None:
            raise _forgotten(event)
        now: JsonObject = {
            "verdict": found.pop("verdict"),
            "rule": found["rule"],
            "why": found.pop("why") or meaning(str(found.pop("rule"))),
        }
        return {**_shown(row, found), "now": now}

    async def admit(self, event: str, by: str) -> JsonObject:
        """Let in what is held. A second time is the same one. Raises ``NotHeldError``."""
        row = await self._verdict(event)
        if row.verdict != "held" or row.rule in BY_ITSELF:
            raise NotHeldError(
                f"{row.event_id} isn't held for anybody: it is {row.verdict.replace('_', ' ')}",
                fix=f"gateway why {row.event_id}",
            )
        inbound = await self._asked().admitted(row.event_id)
        if inbound is None:
            raise _forgotten(event)
        now = self._clock.now()
        entry = Audit(
            at=now,
            kind="mail_admitted",
            agent=self._agent,
            session=inbound.place.session,
            turn_id=inbound.turn_id,
            subject=row.event_id,
            by=by,
            digest=None,
            outcome=row.rule,
        )
        await self._ledger.note([admission(MAIL, inbound, now), entry])
        return {
            "event": row.event_id,
            "session": inbound.place.session,
            "turn_id": inbound.turn_id,
            "held_for": row.rule,
        }

    async def conversation(self, key: str) -> JsonObject:
        found = await self._asked().conversation(key)
        if found is None:
            raise _no_conversation(key)
        return found

    async def hand_back(self, key: str) -> JsonObject:
        """Also one that is the agent's: a letter may be left over from a time that ended halfway."""
        before = await self.conversation(key)
        found = await self._asked().hand_back(key)
        if found is None:
            raise _no_conversation(key)
        return {**found, "was": before["taken_over"]}

    async def taken_over(self, session: str) -> str:
        """Who of ours speaks in a session; nobody where that is nobody."""
        if self._clerk is None or session.partition(":")[0] != MAIL:
            return ""
        found = await self._clerk.conversation(session)
        return "" if found is None else str(found["taken_over"])

    # -- beneath -------------------------------------------------------------------------------------
    async def _latest(
        self, limit: int, wanted: Callable[[VerdictRow], bool], verdict: str | None = None
    ) -> list[VerdictRow]:
        reach = 2 * limit
        while True:
            found = await self._ledger.verdicts(source=MAIL, verdict=verdict, limit=reach)
            rows = [row for row in found if wanted(row)][:limit]
            if len(rows) == limit or len(found) < reach:
                return rows
            reach *= 4

    def _asked(self) -> Clerk:
        if self._clerk is None:
            raise NotFoundError("this agent has no mail", fix="gateway doctor email")
        return self._clerk

    async def _verdict(self, event: str) -> VerdictRow:
        self._asked()
        found = await self._ledger.verdicts(source=MAIL, event=event, limit=1)
        if not found:
            raise NotFoundError(f"no mail {event!r}", fix=LIST)
        return found[0]


def _shown(row: VerdictRow, read: JsonObject | None) -> JsonObject:
    """A verdict beside what the mail says. ``came`` is when the mail did, ``at`` when it was judged."""
    told = {**verdict_json(row), "means": meaning(row.rule), "kept": read is not None}
    if read is None:
        return told
    said = {name: value for name, value in read.items() if name not in {"event", "at", "session"}}
    reasons = [str(one[1]) for one in cast("list[list[Json]]", read["reasons"])]
    return {
        **told,
        **said,
        "came": read["at"],
        "joins_session": read["session"],
        "known": known(read),
        "reasons": [*reasons],
    }


def known(read: JsonObject) -> str:
    """How well its author is known, in one sentence."""
    author, domain = str(read["address"] or "who From names"), str(read["domain"] or "Its domain")
    return KNOWN[cast("Level", read["level"])].format(author, domain)


def _forgotten(event: str) -> NotFoundError:
    return NotFoundError(
        f"the bytes of {event} aren't kept any more, or can't be read",
        fix=f"gateway mail raw {event} has them if they are kept; else ask its sender to send it again",
    )


def _no_conversation(key: str) -> NotFoundError:
    return NotFoundError(f"no conversation {key!r} by mail", fix=LIST)
