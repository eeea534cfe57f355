"""The mail's pages, its forms and its stream, for whoever sits at this machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web

from gateway.host.api import Api
from gateway.host.pages import page
from gateway.host.pages.render import HEADERS, POLICY, see_other
from gateway.host.stream import send
from gateway.playground.faults import planned
from gateway.playground.frames import changes
from gateway.playground.guard import guarded, read, tried
from gateway.playground.mail.board import MailBoard
from gateway.playground.mail.desk import SAMPLES, MailDesk
from gateway.playground.mail.judging import beside, judge
from gateway.playground.mail.menu import MENU
from gateway.playground.mail.office import MODES, PEOPLE, SUPPORT, MailOffice
from gateway.playground.mail.place import MAIL, mail_door, mail_place
from gateway.playground.mail.reading import find_letter, html_of

FRAMED = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
"""What a letter's page may do: look like something. It runs nothing and loads nothing."""
LONGEST_RAW = 200_000
TRIES = {
    "june": (
        ("Order 1042", "Hello, where is order 1042?"),
        ("My kettle", "Hello,\n\nplease refund order 1042. It arrived broken.\n\nThank you!"),
        ("A question", "Hello, what is your refund policy?"),
    )
}


@dataclass(slots=True, kw_only=True)
class MailSite:
    office: MailOffice
    desk: MailDesk
    api: Api
    mounted: bool
    """Whether the agent has a channel for email at all."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """What somebody is told on the next page."""

    def mount(self, app: web.Application) -> None:
        app.router.add_get(MAIL, guarded(self.show))
        app.router.add_get(f"{MAIL}/live", guarded(self.live))
        app.router.add_get(f"{MAIL}/raw", guarded(self.raw))
        app.router.add_get(f"{MAIL}/page", guarded(self.page))
        app.router.add_post(f"{MAIL}/{{act}}", guarded(self.act))

    # -- looking -----------------------------------------------------------------------------------
    async def show(self, request: web.Request) -> web.StreamResponse:
        at = mail_place(self.office, request.query)
        response = page(
            request,
            "playground/mail.html",
            at=at,
            people=list(PEOPLE.values()),
            steps=await beside(self.api, at),
            menu=MENU,
            modes=MODES,
            planned=planned(MENU, self.office.server.faults.planned),
            samples={name: told for name, (told, _) in SAMPLES.items()},
            tries=TRIES.get(self.api.agent, (("Hello", "Hello!"),)),
            support=SUPPORT,
            bot=self.api.agent,
            note=self.notes.pop(at.person.key, ""),
            mounted=self.mounted,
            mistakes=self.api.mistakes,
        )
        response.headers["Content-Security-Policy"] = f"{POLICY}; frame-src 'self'"
        return response

    async def raw(self, request: web.Request) -> web.StreamResponse:
        at = mail_place(self.office, request.query)
        letter = find_letter(self.office, request.query.get("id", ""))
        if letter is None:
            raise web.HTTPNotFound
        judged, _ = await judge(self.api, letter)
        text = letter.raw[:LONGEST_RAW].decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        cut = max(len(letter.raw) - LONGEST_RAW, 0)
        return page(
            request,
            "playground/mail_raw.html",
            at=at,
            one=judged,
            letter=letter,
            text=text,
            cut=cut,
        )

    async def page(self, request: web.Request) -> web.StreamResponse:
        """A letter's page, for the frame around it."""
        letter = find_letter(self.office, request.query.get("id", ""))
        html = "" if letter is None else html_of(letter.raw)
        if not html:
            raise web.HTTPNotFound
        headers = {**HEADERS, "Content-Security-Policy": FRAMED}
        return web.Response(text=html, headers=headers, content_type="text/html", charset="utf-8")

    async def live(self, request: web.Request) -> web.StreamResponse:
        at = mail_place(self.office, request.query)
        board = MailBoard()

        async def drawn() -> bytes:
            now = at.again()
            return b"".join(board.changes(now, await beside(self.api, now), self.api.mistakes))

        stream = changes(self.office.server.journal.watchers, drawn)
        return await send(self.api, request, stream, {})

    # -- acting ------------------------------------------------------------------------------------
    async def act(self, request: web.Request) -> web.StreamResponse:
        form = await read(request)
        at = mail_place(self.office, {name: values[0] for name, values in form.items()})
        note, goes = await tried(self.desk.act(request.match_info["act"], at, form), at)
        if "application/json" in request.headers.get("Accept", ""):
            leads = "" if goes.query == at.query else mail_door(goes)
            told = {"note": note, "go": leads, "modal": ""}
            return web.json_response(told, headers={"Cache-Control": "no-store"})
        self.notes[at.person.key] = note
        return see_other(mail_door(goes))
