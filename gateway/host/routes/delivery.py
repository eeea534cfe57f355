"""For whoever asks why something was answered, or wasn't: verdicts on what came in, and deliveries of
what goes out."""

from __future__ import annotations

import re
from typing import cast

from aiohttp import web

from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import Json
from gateway.engine.ledger import DeliveryState
from gateway.host.problems import json_response
from gateway.host.routes.given import LIMIT, limit, named
from gateway.host.shapes import DELIVERY_STATES, EMPTY
from gateway.host.table import Call, Query, Reply, Route
from gateway.outbox.listing import delivery_json, find_delivery, retry_delivery, verdict_json

_NUMBER = re.compile(r"[0-9]{1,18}")


def delivery_routes() -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/deliveries",
            name="deliveries",
            about="What is shown where, the latest first.",
            handler=deliveries,
            right="read",
            query=(
                Query(name="state", schema=DELIVERY_STATES, about="In one state."),
                named("turn_id", "Of one turn."),
                LIMIT,
            ),
            replies={200: Reply(about="The deliveries.", component="Deliveries")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path="/deliveries/{delivery}",
            name="delivery",
            about="One delivery and the messages it made.",
            handler=delivery,
            right="read",
            replies={200: Reply(about="The delivery.", component="Delivery")},
            problems=(404, 503),
        ),
        Route(
            method="POST",
            path="/deliveries/{delivery}/retry",
            name="retry_delivery",
            about="Try a dead delivery again: what it shows is the state of that moment.",
            handler=retry,
            right="admin",
            body=EMPTY,
            body_optional=True,
            replies={200: Reply(about="It is due.", component="Delivery")},
            problems=(400, 404, 409, 503),
        ),
        Route(
            method="GET",
            path="/verdicts",
            name="verdicts",
            about="How events of channels were judged, the latest first.",
            handler=verdicts,
            right="read",
            query=(
                named("event", "Of one event, by the platform's id."),
                named("place", "Of one place, such as slack:T1:C1:1700000000.000100."),
                named("turn_id", "Of those that opened one turn."),
                named("source", "Of one channel."),
                LIMIT,
            ),
            replies={200: Reply(about="The verdicts.", component="Verdicts")},
            problems=(400, 503),
        ),
    )


async def deliveries(call: Call) -> web.StreamResponse:
    found = await call.api.runtime.store.ledger.deliveries(
        state=cast("DeliveryState | None", call.query.get("state")),
        turn_id=call.query.get("turn_id"),
        limit=limit(call),
    )
    return json_response(
        {"deliveries": [call.api.names.beside(delivery_json(row)) for row in found]}
    )


async def delivery(call: Call) -> web.StreamResponse:
    found = await find_delivery(call.api.runtime.store.ledger, _number(call))
    return json_response(call.api.names.beside(delivery_json(found)))


async def retry(call: Call) -> web.StreamResponse:
    runtime = call.api.runtime
    found = await retry_delivery(runtime.store.ledger, _number(call), runtime.clock.now())
    return json_response(call.api.names.beside(delivery_json(found)))


async def verdicts(call: Call) -> web.StreamResponse:
    found = await call.api.runtime.store.ledger.verdicts(
        source=call.query.get("source"),
        event=call.query.get("event"),
        place=call.query.get("place"),
        turn_id=call.query.get("turn_id"),
        limit=limit(call),
    )
    rows: list[Json] = [call.api.names.beside(verdict_json(row)) for row in found]
    return json_response({"verdicts": rows})


def _number(call: Call) -> int:
    given = call.path["delivery"]
    if not _NUMBER.fullmatch(given):
        raise NotFoundError("a delivery's id is a number", fix="list them: GET /deliveries")
    return int(given)
