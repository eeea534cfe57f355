"""Whose votes there are for a request, and which of them count together. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from channels.protocol import Decider
from gateway.engine.decisions.answerers import namespace
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.records import VoteRow
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Ballot:
    """``counted`` are the most votes that agree, each person's latest, among identities of one kind:
    those of another kind might be the same people. ``apart`` are the others, kept all the same."""

    counted: tuple[Decider, ...] = ()
    apart: tuple[Decider, ...] = ()

    def vote_of(self, who: str) -> Decider | None:
        return next((vote for vote in (*self.counted, *self.apart) if vote.by == who), None)

    def why_apart(self, vote: Decider) -> str:
        """Why a vote isn't counted; empty for one that is."""
        if vote not in self.apart:
            return ""
        if vote.value != self.counted[0].value:
            return "it is another answer than most gave"
        theirs = ", ".join(one.by for one in self.counted)
        return f"it doesn't add up with that of {theirs}: they may be one person by two names"

    def rows(self) -> list[Json]:
        """Every vote, the first first."""
        every = sorted((*self.counted, *self.apart), key=lambda vote: vote.at)
        return [self._row(vote) for vote in every]

    def _row(self, vote: Decider) -> JsonObject:
        return {
            "by": vote.by,
            "value": vote.value,
            "reason": vote.reason,
            "at": vote.at,
            "counts": vote in self.counted,
            "why": self.why_apart(vote),
        }


def ballot_of(votes: Sequence[VoteRow]) -> Ballot:
    latest = {vote.by: vote for vote in votes}
    groups: dict[tuple[str, str], list[VoteRow]] = {}
    for vote in latest.values():
        groups.setdefault((vote.value, namespace(vote.by)), []).append(vote)
    most = max(groups.values(), key=len) if groups else []
    return Ballot(
        counted=_deciders(most),
        apart=_deciders([vote for vote in latest.values() if vote not in most]),
    )


def _deciders(votes: Sequence[VoteRow]) -> tuple[Decider, ...]:
    return tuple(
        Decider(by=vote.by, value=value_of(vote.value), reason=vote.reason, at=vote.at)
        for vote in sorted(votes, key=lambda vote: vote.at)
    )


def value_of(text: str | None) -> Json:
    return None if text is None else cast("Json", json.loads(text))
