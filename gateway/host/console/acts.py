"""What the buttons do. Each returns the page that shows what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from gateway.approvals.authorise import decide_as
from gateway.engine.decisions.park import request_body
from gateway.engine.errors import NotFoundError, StaleAnswerError
from gateway.engine.kinds import SessionRef, Speaker
from gateway.host.channels.clerks import NotHeldError
from gateway.host.console.seen import Seen
from gateway.host.console.views import fields, links
from gateway.outbox.listing import NotDeadError, retry_delivery


async def decide(seen: Seen, form: Mapping[str, str]) -> str:
    """Answer a request as ``console:<user>``, about what the form showed and nothing else."""
    found = await seen.store.find_request(seen.request.match_info["id"])
    if found is None:
        raise NotFoundError("there is no such request", fix="look under Approvals")
    here = links.approval(found.request.id)
    me = seen.visitor
    session = seen.api.runtime.session(found.ref.agent, found.ref.key)
    try:
        await decide_as(
            session,
            found,
            fields.answer(request_body(found.request.body).schema, form),
            by=me.identity,
            principal=Speaker(id=me.identity, name=me.user, level="provider"),
            reason=form.get("reason", "").strip().replace("\r\n", "\n") or None,
            digest=form.get("digest", ""),
        )
    except StaleAnswerError:
        return f"{here}?came=late"
    return f"{here}?came=pressed"


async def retry(seen: Seen, form: Mapping[str, str]) -> str:
    """Make a dead delivery due. One that isn't dead any more, somebody else has retried."""
    number = links.number(seen.request.match_info["delivery"])
    with suppress(NotDeadError):
        await retry_delivery(seen.store.ledger, number, seen.now)
    return links.delivery(number)


async def admit(seen: Seen, form: Mapping[str, str]) -> str:
    """Let in a mail that is held. One that isn't any more, somebody else has let in."""
    event = seen.request.match_info["event"]
    with suppress(NotHeldError):
        await seen.api.clerks.admit(event, seen.visitor.identity)
    return links.mail(event)


async def hand_back(seen: Seen, form: Mapping[str, str]) -> str:
    """Have the agent speak again where a colleague did."""
    found = await seen.api.clerks.hand_back(seen.request.match_info["conversation"])
    return links.session(SessionRef(seen.api.agent, str(found["session"])))


async def run_schedule(seen: Seen, form: Mapping[str, str]) -> str:
    """Fire it now, whatever the clock says. Its turn, or the schedule if it had nothing to ask."""
    seen.api.take_turns()
    book, name = seen.api.book(), seen.request.match_info["schedule"]
    fired = await book.run(name, seen.visitor.identity)
    if fired is None:
        return links.schedule(name)
    return links.session(SessionRef(book.agent, fired.session), fired.turn_id)


async def pause_schedule(seen: Seen, form: Mapping[str, str]) -> str:
    name = seen.request.match_info["schedule"]
    await seen.api.book().pause(name, seen.visitor.identity)
    return links.schedule(name)


async def resume_schedule(seen: Seen, form: Mapping[str, str]) -> str:
    name = seen.request.match_info["schedule"]
    await seen.api.book().resume(name)
    return links.schedule(name)
