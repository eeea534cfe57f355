"""An open page of the mail, kept true: what of it has changed is drawn and sent, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gateway.host.pages import fragment
from gateway.host.pages.shelf import TEMPLATES
from gateway.playground.faults import planned
from gateway.playground.frames import Frames
from gateway.playground.mail.judging import Beside
from gateway.playground.mail.menu import MENU
from gateway.playground.mail.office import MODES
from gateway.playground.mail.place import MailPlace, mail_door
from gateway.playground.mail.reading import Letter

PARTS = "playground/mail_parts.html"

TEMPLATES.filters.update({"mail_door": mail_door})


@dataclass(slots=True)
class MailBoard:
    """What one reader's page shows. ``changes`` are frames for ``live.js``."""

    _frames: Frames = field(default_factory=Frames)

    def changes(self, at: MailPlace, steps: Beside, mistakes: Sequence[str]) -> Iterator[bytes]:
        part = self._frames.part
        yield from part("mistakes", fragment("playground/parts.html", "mistakes", told=mistakes))
        yield from part("threads", fragment(PARTS, "threads", at=at))
        if at.thread is not None:
            yield from self._letters(at.thread.letters, at)
            yield from part("beside", fragment(PARTS, "beside", steps=steps, at=at))
        yield from part("modes", fragment(PARTS, "modes", at=at, modes=MODES))
        yield from part(
            "planned",
            fragment(
                PARTS, "faults", planned=planned(MENU, at.office.server.faults.planned), at=at
            ),
        )

    def _letters(self, found: Sequence[Letter], at: MailPlace) -> Iterator[bytes]:
        drawn = {one.id: fragment(PARTS, "letter", one=one, at=at) for one in found}
        whole = fragment(PARTS, "letters", found=found, at=at)
        return self._frames.rows("letters", drawn, whole)
