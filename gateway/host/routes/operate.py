"""For whoever runs the host: health, readiness, status, metrics, the document, webhooks."""

from __future__ import annotations

from typing import Protocol, cast

from aiohttp import web

from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Json
from gateway.host.api import Api
from gateway.host.channels.hooks import serve
from gateway.host.metrics import CONTENT_TYPE, seconds_since
from gateway.host.problems import json_response
from gateway.host.table import Call

COUNTED = 500
"""How many open requests are looked at for a count: an operator with more knows it already."""
STUCK_SECONDS = 5.0


class Watched(Protocol):
    """A store that tells which sync tool doesn't come back."""

    @property
    def stuck(self) -> tuple[str, str, float] | None:
        """(tool, turn id, seconds)."""
        ...


def stuck(api: Api) -> tuple[str, str, float] | None:
    """The sync tool that holds the store for longer than it may, if there is one."""
    if not hasattr(api.runtime.store, "stuck"):
        return None
    found = cast("Watched", api.runtime.store).stuck
    return found if found is not None and found[2] >= STUCK_SECONDS else None


def readiness(api: Api) -> tuple[bool, list[str]]:
    health = api.runtime.health()
    problems = list(health.problems)
    if api.draining and not health.draining:
        problems.append("draining: this process is stopping")
    if (held := stuck(api)) is not None:
        tool, turn_id, seconds = held
        problems.append(f"tool {tool} of turn {turn_id} hasn't returned for {seconds:.0f} s")
    return not problems, problems


async def healthz(call: Call) -> web.StreamResponse:
    """The process lives and its loop turns; nothing else is asked."""
    return json_response({"status": "ok"})


async def readyz(call: Call) -> web.StreamResponse:
    """A channel that is down is named, and takes no turns from the others: ready all the same."""
    ready, problems = readiness(call.api)
    told = {name: call.api.registry.problem(name) for name in sorted(call.api.channels)}
    said: list[Json] = [*problems, *(f"channel {name}: {why}" for name, why in told.items() if why)]
    return json_response({"ready": ready, "problems": said}, 200 if ready else 503)


async def status(call: Call) -> web.StreamResponse:
    api = call.api
    ready, problems = readiness(api)
    health = api.runtime.health()
    waiting = await api.runtime.store.list_requests(limit=COUNTED)
    dead = await api.runtime.store.ledger.deliveries(state="dead", limit=COUNTED)
    held = await api.clerks.held(COUNTED) if api.clerks.here else []
    lag, troubles = (0.0, []) if api.schedules is None else await api.schedules.lag()
    failing = [f"schedule {name} fails: {why}" for name, why in troubles]
    channels: list[Json] = [api.registry.told(name) for name in api.registry.names]
    return json_response(
        {
            "ready": ready,
            "problems": [*problems, *api.mistakes, *failing],
            "draining": api.draining or health.draining,
            "running": health.running,
            "queued": health.queued,
            "approvals": len(waiting),
            "oldest_approval": waiting[0].request.created_at if waiting else None,
            "dead_deliveries": len(dead),
            "held_mail": len(held),
            "schedule_lag": lag,
            "agents": [*api.agents()],
            "store": api.runtime.store.dialect,
            "channels": channels,
            "version": api.version,
            "started_at": api.started_at,
        }
    )


async def metrics(call: Call) -> web.StreamResponse:
    api = call.api
    health = api.runtime.health()
    gauges = {
        "gateway_ready": ("Whether this host is ready.", float(readiness(api)[0])),
        "gateway_turns_running": ("Turns that run here.", float(health.running)),
        "gateway_turns_queued": ("Turns that wait for a place.", float(health.queued)),
    }
    try:
        waiting = await api.runtime.store.list_requests(limit=COUNTED)
        behind = None if api.schedules is None else await api.schedules.lag()
    except GatewayError:
        pass  # a store that is down shows in gateway_ready; the counters are still true
    else:
        oldest = waiting[0].request.created_at if waiting else None
        age = seconds_since(oldest, api.runtime.clock.now())
        gauges["gateway_approvals_pending"] = ("Requests that wait.", float(len(waiting)))
        gauges["gateway_approval_oldest_seconds"] = ("Age of the oldest request.", age)
        if behind is not None:
            about = "Seconds since the oldest tick that nobody saw to was due."
            gauges["gateway_schedule_lag_seconds"] = (about, behind[0])
            gauges["gateway_schedules_failing"] = ("Schedules that fail.", float(len(behind[1])))
    text = api.metrics.text(gauges)
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


async def channel(call: Call) -> web.StreamResponse:
    """A webhook of a channel; below its name, whatever path it gave it."""
    tail = call.path.get("tail")
    path = "" if tail is None else f"/{tail}"
    return await serve(call.api, call.request, call.path["name"], path)
