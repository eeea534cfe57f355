"""An open page, kept true: what of it has changed is drawn and sent, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from channels.slack.emulator.blocks.render import block_words
from gateway.engine.kinds import Json
from gateway.host.pages import fragment
from gateway.host.pages.shelf import TEMPLATES
from gateway.intake.rules import meaning
from gateway.playground import words
from gateway.playground.doors import door
from gateway.playground.faults import MENU, planned
from gateway.playground.frames import Frames
from gateway.playground.screen import Line, Place, Screen, names
from gateway.playground.turns import Beside, judged

PARTS = "playground/parts.html"

FILTERS: dict[str, Callable[..., str]] = {
    "slack": words.mrkdwn,
    "markdown": words.markdown,
    "rich": words.rich_text,
    "lines": words.plain,
    "in_words": block_words,
    "door": door,
    "judged": judged,
    "meaning": meaning,
}
TEMPLATES.filters.update(FILTERS)


@dataclass(slots=True)
class Board:
    """What one reader's page shows. ``changes`` are frames for ``live.js``."""

    place: Place
    _frames: Frames = field(default_factory=Frames)

    def changes(
        self, screen: Screen, beside: Beside, drafts: Mapping[str, Json], mistakes: Sequence[str]
    ) -> Iterator[bytes]:
        find, outside = partial(names, self.place.office), self.place.outside
        yield from self._part("mistakes", fragment(PARTS, "mistakes", told=mistakes))
        yield from self._lines("channel-lines", screen.channel, outside)
        if self.place.root is not None:
            yield from self._lines("thread-lines", screen.thread, self.place)
            bot = self.place.office.bot
            yield from self._part("work", fragment(PARTS, "work", screen=screen, bot=bot))
            yield from self._part("timeline", fragment(PARTS, "timeline", beside=beside))
        yield from self._part(
            "modal", fragment(PARTS, "modal", screen=screen, drafts=drafts, names=find)
        )
        yield from self._part(
            "planned",
            fragment(
                PARTS, "faults", planned=planned(MENU, self.place.office.slack.faults.planned)
            ),
        )

    def _part(self, name: str, html: str) -> Iterator[bytes]:
        return self._frames.part(name, html)

    def _lines(self, name: str, found: Sequence[Line], at: Place) -> Iterator[bytes]:
        find = partial(names, at.office)
        drawn = {one.id: fragment(PARTS, "line", one=one, at=at, names=find) for one in found}
        whole = fragment(PARTS, "lines", id=name, found=found, at=at, names=find)
        return self._frames.rows(name, drawn, whole)
