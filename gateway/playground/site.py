"""The page, its forms and its stream: for whoever sits at this machine, and nobody else.

Every form works without a script: it is sent, and the answer leads back to where it came from. A script
sends it beside the page, asks for JSON, and is told what to show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aiohttp import web

from gateway.host.api import Api
from gateway.host.pages import LINKS, Link, add_room, fragment, page
from gateway.host.pages.render import see_other
from gateway.host.stream import send
from gateway.playground.board import PARTS, Board
from gateway.playground.desk import Desk
from gateway.playground.doors import HOME, door, place_of
from gateway.playground.faults import MENU, planned
from gateway.playground.frames import changes
from gateway.playground.guard import guarded, read, tried
from gateway.playground.office import Office
from gateway.playground.screen import Place, look, names
from gateway.playground.turns import beside

TRIES = {
    "june": (
        "where is order 1042?",
        "please refund order 1042, it arrived broken",
        "what is your refund policy?",
    )
}
"""What the demo's agent can be asked. Any other is greeted."""

add_room("playground", Path(__file__).parent)


@dataclass(slots=True, kw_only=True)
class Site:
    office: Office
    desk: Desk
    api: Api
    mounted: bool
    """Whether the agent has a channel for Slack at all."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """What a persona is told on the next page: why something wasn't possible."""

    def mount(self, app: web.Application) -> None:
        app.router.add_get(HOME, guarded(self.show))
        app.router.add_get(f"{HOME}/live", guarded(self.live))
        app.router.add_post(f"{HOME}/{{act}}", guarded(self.act))
        app[LINKS] = [*app.get(LINKS, ()), Link(HOME, "Playground")]

    # -- looking -----------------------------------------------------------------------------------
    async def show(self, request: web.Request) -> web.StreamResponse:
        at = place_of(self.office, request.query)
        bot, users = self.office.bot, self.office.slack.world.users
        return page(
            request,
            "playground/page.html",
            at=at,
            outside=at.outside,
            screen=look(at),
            beside=await beside(self.api, at),
            personas=list(self.office.personas.values()),
            channels=list(self.office.channels(at.persona)),
            company=self.office.acme.name,
            people=", ".join(sorted(users[member].name for member in at.channel.members)),
            menu=MENU,
            planned=planned(MENU, self.office.slack.faults.planned),
            bot=bot,
            tries=TRIES.get(self.api.agent, ("hello",)),
            start="" if at.channel.direct else f"@{bot} ",
            note=self.notes.pop(at.persona.name, ""),
            drafts=self.desk.draft(at),
            mounted=self.mounted,
            mistakes=self.api.mistakes,
            names=partial(names, self.office),
        )

    async def live(self, request: web.Request) -> web.StreamResponse:
        """The page as it changes: all of it first, whatever the reader had seen before."""
        at = place_of(self.office, request.query)
        board = Board(at)

        async def drawn() -> bytes:
            steps = await beside(self.api, at)
            drafts, mistakes = self.desk.draft(at), self.api.mistakes
            return b"".join(board.changes(look(at), steps, drafts, mistakes))

        stream = changes(self.office.slack.journal.watchers, drawn)
        return await send(self.api, request, stream, {})

    # -- acting ------------------------------------------------------------------------------------
    async def act(self, request: web.Request) -> web.StreamResponse:
        form = await read(request)
        at = place_of(self.office, {name: values[0] for name, values in form.items()})
        note, goes = await tried(self.desk.act(request.match_info["act"], at, form), at)
        if "application/json" in request.headers.get("Accept", ""):
            told = {
                "note": note,
                "go": "" if goes.query == at.query else door(goes),
                "modal": self._modal(at),
            }
            return web.json_response(told, headers={"Cache-Control": "no-store"})
        self.notes[at.persona.name] = note
        return see_other(door(goes))

    def _modal(self, at: Place) -> str:
        find = partial(names, self.office)
        return fragment(PARTS, "modal", screen=look(at), drafts=self.desk.draft(at), names=find)
