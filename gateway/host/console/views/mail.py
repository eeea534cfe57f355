"""Mail that came in: what waits for an operator, and how its author was judged."""

from __future__ import annotations

from gateway.engine.kinds import Json, JsonObject, SessionRef
from gateway.engine.ledger import VerdictRow
from gateway.host.console.seen import Seen
from gateway.host.console.views import links
from gateway.host.console.views.standing import MAIL
from gateway.intake.rules import BY_ITSELF

SHOWS = ("held", "all")


async def mails(seen: Seen) -> JsonObject:
    clerks = seen.api.clerks
    show = seen.choice("show", *SHOWS)
    found, pages = await seen.rows(clerks.held if show == "held" else clerks.all)
    rows: list[Json] = [await _row(seen, one) for one in found]
    return {"show": show, "mail": rows, **pages}


async def mail(seen: Seen) -> JsonObject:
    clerks = seen.api.clerks
    return _shown(seen, await clerks.show(seen.request.match_info["event"]))


async def _row(seen: Seen, found: VerdictRow) -> JsonObject:
    return _shown(seen, await seen.api.clerks.row(found))


def _shown(seen: Seen, row: JsonObject) -> JsonObject:
    word, session = str(row["verdict"]), row.get("session")
    told: JsonObject = {
        **row,
        **MAIL.row(word),
        "waits": word == "held" and row["rule"] not in BY_ITSELF,
        "href": links.mail(str(row["event"])),
        "session_href": links.session(SessionRef(str(row["agent"]), str(session)))
        if session
        else None,
    }
    return seen.names.beside(told)
