"""Which pages and buttons there are."""

from __future__ import annotations

from aiohttp import web

from gateway.engine.errors import NotFoundError
from gateway.host.api import Api
from gateway.host.console import acts
from gateway.host.console.live import live
from gateway.host.console.screens import (
    ROOT,
    Button,
    Screen,
    add_button,
    add_screen,
    guarded,
    look,
)
from gateway.host.console.views.approval import approval
from gateway.host.console.views.approvals import approvals
from gateway.host.console.views.deliveries import deliveries, delivery
from gateway.host.console.views.home import home
from gateway.host.console.views.mail import mail, mails
from gateway.host.console.views.schedules import schedule, schedules
from gateway.host.console.views.session import session
from gateway.host.console.views.sessions import sessions
from gateway.host.console.views.turns import turns
from gateway.host.pages import add_static
from gateway.host.pages.render import see_other

SCREENS = (
    Screen("", "home", home, refresh=5),
    Screen("/approvals", "approvals", approvals, refresh=5),
    Screen("/approvals/{id}", "approval", approval, refresh=5),
    Screen("/sessions", "sessions", sessions, refresh=5),
    Screen("/turns", "turns", turns, refresh=5),
    Screen("/session", "session", session, refresh=30),
    Screen("/deliveries", "deliveries", deliveries, refresh=5),
    Screen("/deliveries/{delivery}", "delivery", delivery, refresh=5),
    Screen("/mail", "mails", mails, refresh=5),
    Screen("/mail/{event}", "mail", mail, refresh=5),
    Screen("/schedules", "schedules", schedules, refresh=5),
    Screen("/schedules/{schedule}", "schedule", schedule, refresh=5),
)
BUTTONS = (
    Button("/approvals/{id}", acts.decide),
    Button("/deliveries/{delivery}/retry", acts.retry),
    Button("/mail/{event}/admit", acts.admit),
    Button("/conversations/{conversation}/handback", acts.hand_back),
    Button("/schedules/{schedule}/run", acts.run_schedule, "admin"),
    Button("/schedules/{schedule}/pause", acts.pause_schedule, "admin"),
    Button("/schedules/{schedule}/resume", acts.resume_schedule, "admin"),
)


def add_console(app: web.Application, api: Api) -> None:
    """The operators' pages. Signing in is ``access``'s to add."""
    add_static(app)
    for screen in SCREENS:
        add_screen(app, api, screen)
    for button in BUTTONS:
        add_button(app, api, button)

    async def stream(request: web.Request) -> web.StreamResponse:
        return await live(await look(api, request, "viewer"))

    async def nowhere(request: web.Request) -> web.StreamResponse:
        raise NotFoundError(f"{request.path} is no page here", fix="go on by the navigation")

    async def door(request: web.Request) -> web.StreamResponse:
        """Whoever types the host's name alone is a person in a browser, or is told what a program is."""
        if "text/html" not in request.headers.get("Accept", ""):
            raise NotFoundError("nothing is here", fix="see GET /openapi.json for what is")
        return see_other(ROOT)

    app.router.add_get("/", guarded(api, "root", door))
    app.router.add_get(f"{ROOT}/session/live", guarded(api, "console_live", stream))
    app.router.add_get(f"{ROOT}/{{tail:.*}}", guarded(api, "console_nowhere", nowhere))
