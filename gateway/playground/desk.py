"""What somebody does on the page: each form becomes what Slack's own client would do for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from channels.slack.emulator import Impossible
from channels.slack.emulator.events.http import Reply
from channels.slack.emulator.wire import a_text, an_object, objects
from channels.slack.emulator.world.state import View
from gateway.engine.kinds import Json
from gateway.playground.faults import MENU, chosen
from gateway.playground.guard import Form, first
from gateway.playground.office import Office
from gateway.playground.screen import Place

FIELD = "f."
"""What stands before the fields of a modal in its form."""
LONGEST = 4_000
"""Characters of one message."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A message, as a form names it."""

    channel: str
    ts: str


@dataclass(slots=True)
class Desk:
    """Acts return where they lead. What isn't possible is ``Impossible``, in words for the person."""

    office: Office
    drafts: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    """What was typed into a modal that came back with mistakes, by the modal's id."""

    async def act(self, name: str, at: Place, form: Form) -> Place | None:
        """``None``: there is no such act."""
        acts: Mapping[str, Callable[[Place, Form], Awaitable[Place]]] = {
            "say": self.say,
            "click": self.click,
            "press": self.press,
            "submit": self.submit,
            "close": self.close,
            "stop": self.stop,
            "fault": self.fault,
            "repair": self.repair,
        }
        return await acts[name](at, form) if name in acts else None

    def draft(self, at: Place) -> Mapping[str, Json]:
        view = at.persona.person.modal(self.office.app)
        return {} if view is None else self.drafts.get(view.id, {})

    async def say(self, at: Place, form: Form) -> Place:
        """A message, or a command if it begins with a slash. A new one leads into its thread."""
        person, text = at.persona.person, first(form, "text").replace("\r\n", "\n").strip()
        if not text:
            raise Impossible("write something first")
        if len(text) > LONGEST:
            raise Impossible(f"a message holds {LONGEST:,} characters; this has {len(text):,}")
        if text.startswith("/"):
            self._heard(await person.command(at.channel, text))
            return at
        posted = await person.say(at.channel, text, thread=at.root)
        return Place(office=self.office, persona=at.persona, channel=at.channel, root=posted.root)

    async def click(self, at: Place, form: Form) -> Place:
        spot = Spot(at.channel.id, first(form, "ts"))
        value = first(form, "value") or None
        self._heard(await at.persona.person.click(spot, first(form, "action"), value))
        return at

    async def stop(self, at: Place, _: Form) -> Place:
        if at.root is not None:
            await at.persona.person.stop(self.office.app, Spot(at.channel.id, at.root))
        return at

    # -- modals ------------------------------------------------------------------------------------
    async def press(self, at: Place, form: Form) -> Place:
        self._heard(await at.persona.person.press(self.office.app, first(form, "action")))
        return at

    async def submit(self, at: Place, form: Form) -> Place:
        person, app = at.persona.person, self.office.app
        view = person.modal(app)
        if view is None:
            raise Impossible("the form is closed already")
        values = _values(view, form)
        self.drafts[view.id] = {name: "" if v is None else v for name, v in values.items()}
        view.errors = {}
        self._heard(await person.submit(app, values))
        if not view.errors:  # another window may have sent it, too
            self.drafts.pop(view.id, None)
        return at

    async def close(self, at: Place, _: Form) -> Place:
        view = at.persona.person.modal(self.office.app)
        if view is not None:
            self.drafts.pop(view.id, None)
            await at.persona.person.close(self.office.app)
        return at

    # -- what may go wrong -------------------------------------------------------------------------
    async def fault(self, at: Place, form: Form) -> Place:
        self.office.slack.faults.add(chosen(MENU, first(form, "fault")).fault())
        self.office.slack.journal.changed()
        return at

    async def repair(self, at: Place, _: Form) -> Place:
        self.office.slack.faults.repair()
        self.office.slack.outlet.release()
        self.office.slack.journal.changed()
        return at

    def _heard(self, reply: Reply) -> None:
        """Slack tells people when an app doesn't take what they did."""
        if not reply.good:
            status = f", status {reply.status}" if reply.status else ""
            raise Impossible(f"{self.office.bot} didn't take that ({reply.outcome}{status})")


def _values(view: View, form: Form) -> dict[str, Json]:
    """What was filled in, by the ids of the blocks. What was left empty is ``None``."""
    found: dict[str, Json] = {}
    for block in objects(view.view.get("blocks")):
        if block.get("type") != "input":
            continue
        name = a_text(block.get("block_id"))
        given = [value for value in form.get(f"{FIELD}{name}", ()) if value]
        kind = a_text(an_object(block.get("element")).get("type"))
        if kind == "checkboxes" or kind.startswith("multi_"):
            found[name] = [*given]
        else:
            found[name] = given[0] if given else None
    return found
