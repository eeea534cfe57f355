"""Beside a letter: how the gateway judged who wrote it, what became of it and why, and the turn that came of
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from channels.email.parse import event_id
from channels.email.threads import places
from gateway.engine.decisions.opening import opening_from
from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.engine.ledger import VerdictRow
from gateway.host.api import Api
from gateway.host.channels.clerks import MAIL, known
from gateway.host.console.views.deliveries import row as delivery_row
from gateway.host.console.views.session import steps_of, turn_row
from gateway.host.console.views.standing import MAIL as STANDING
from gateway.intake.rules import meaning
from gateway.playground.mail.office import SUPPORT
from gateway.playground.mail.place import MailPlace
from gateway.playground.mail.reading import Letter
from gateway.playground.turns import EVENTS, Turn

MOST = 6
"""Letters of a thread that are told about, and turns, the latest of them."""


ALONE = {
    "held": "It joins no conversation, and nothing of anybody's is told.",
    "automated_mail": "It opens no turn, and nothing is answered.",
    "taken-over": "It waits until an operator lets it in, and nothing is answered.",
    "too-many": "It waits until an operator lets it in, and nothing is answered.",
}
"""What is said of a mail that opened no turn, by its rule or its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One letter that reached the support inbox. ``level`` and ``verdict`` are empty until it was judged."""

    letter: Letter
    level: Json = ""
    known: str = ""
    reasons: Json = None
    """Pairs of a word and a sentence."""
    verdict: str = ""
    word: str = ""
    rule: str = ""
    meaning: str = ""
    joined: str = ""
    """The conversation that it is part of, or why it is part of none."""
    copies: int = 1

    @property
    def tone(self) -> str:
        return STANDING.of(self.verdict)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What belongs to a thread, the newest first."""

    judged: Sequence[Judged] = ()
    turns: Sequence[Turn] = ()
    sent: Sequence[JsonObject] = ()


async def beside(api: Api, at: MailPlace) -> Beside:
    thread = at.thread
    if thread is None:
        return Beside()
    inbox = MailPlace(office=at.office, person=at.office.person("support"))
    ids = thread.ids
    reached = [
        one
        for found in inbox.threads
        for one in found.letters
        if one.author != SUPPORT and not ids.isdisjoint(one.ids)
    ]
    reached.sort(key=lambda one: one.at, reverse=True)
    found = [await judge(api, one) for one in reached[:MOST]]
    sessions = dict.fromkeys(row.session for _, row in found if row is not None and row.session)
    turns: list[Turn] = []
    sent: list[JsonObject] = []
    for session in [*sessions][:MOST]:
        ref = SessionRef(api.agent, session)
        for one in await api.runtime.store.list_turns(ref=ref, limit=MOST):
            steps = await steps_of(api, ref, one.turn, EVENTS)
            turns.append(Turn(row=api.names.beside(turn_row(one)), steps=steps))
            rows = await api.runtime.store.ledger.deliveries(turn_id=one.turn.turn_id, limit=MOST)
            sent += [delivery_row(row, api.names) for row in rows if row.session == session]
    return Beside(judged=[one for one, _ in found], turns=turns, sent=sent)


async def judge(api: Api, letter: Letter) -> tuple[Judged, VerdictRow | None]:
    event = event_id(letter.id)
    rows = await api.runtime.store.ledger.verdicts(source=MAIL, event=event, limit=1)
    if not rows:
        return Judged(letter=letter), None
    row, read = rows[0], await api.clerks.author(event)
    made = Judged(
        letter=letter,
        level="" if read is None else read["level"],
        known="" if read is None else known(read),
        reasons=None if read is None else read["reasons"],
        verdict=row.verdict,
        word=STANDING.of(row.verdict)[1],
        rule=row.rule,
        meaning=_sentence(meaning(row.rule)),
        joined=await _joined(api, row),
        copies=row.copies,
    )
    return made, row


async def _joined(api: Api, row: VerdictRow) -> str:
    if row.session is None or row.turn_id is None:
        return ALONE.get(row.rule) or ALONE.get(row.verdict, "It opens no turn.")
    turn = await api.runtime.store.turn(SessionRef(api.agent, row.session), row.turn_id)
    event: JsonObject = {} if turn is None else opening_from(turn.body).event or {}
    name = row.session.removeprefix(places.session(SUPPORT, ""))
    if link := event.get("link"):
        return (
            f"It names conversation {link} and isn't let into it: its author takes no part there, or"
            f" nobody vouches for them. It begins {name}."
        )
    first = turn is not None and turn.number == 1
    return f"It begins conversation {name}." if first else f"It goes on with conversation {name}."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
