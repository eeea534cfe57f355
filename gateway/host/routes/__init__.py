"""Every route of the host: what it takes, what it answers, what may go wrong."""

from __future__ import annotations

from gateway.host.api import Api
from gateway.host.routes import answer, operate, read, start
from gateway.host.routes.delivery import delivery_routes
from gateway.host.routes.given import LIMIT, named
from gateway.host.routes.mail import mail_routes
from gateway.host.routes.schedules import schedule_routes
from gateway.host.shapes import CHAT, DECIDE, EMPTY, RESUME, START, one_of
from gateway.host.table import Query, Reply, Route

SESSION = "/agents/{agent}/sessions/{session}"
FLAG = one_of("0", "1")
SSE = ("text/event-stream",)

DETACH = Query(name="detach", schema=FLAG, about="1: answer 202 once the turn is committed.")
REPLACE = Query(
    name="replace",
    schema=FLAG,
    about="1: cancel the session's unfinished turns first, never a park.",
)
AFTER = Query(
    name="after",
    schema={"type": "string", "pattern": "^[0-9]{1,18}$", "maxLength": 18},
    about="The seq of the last event that was seen.",
)
LAST_EVENT_ID = Query(name="Last-Event-ID", schema=AFTER.schema, about="The same; goes first.")
BEFORE = Query(
    name="before",
    schema={"type": "integer", "minimum": 1, "maximum": 10**18 - 1},
    about="Only rows with a lower `number`: that of the last row leads to the next page.",
)
OUTCOMES = {
    200: Reply(about="The turn completed.", component="Outcome", media=SSE),
    202: Reply(about="The turn waits for a person.", component="Outcome"),
    409: Reply(about="The turn was cancelled; or a conflict.", component="Outcome"),
    502: Reply(about="The turn failed.", component="Outcome"),
    504: Reply(about="The turn ran out of time.", component="Outcome"),
}


def deliver(api: Api) -> Query:
    return Query(
        name="deliver",
        schema=FLAG,
        about="1: answer 202; the source's channel renders the turn.",
        offered=bool(api.channels),
    )


def turn_routes(api: Api) -> tuple[Route, ...]:
    """What a conversation needs; all that an embedded gateway mounts."""
    return (
        Route(
            method="POST",
            path=api.chat_path,
            name="message",
            about="Chat with the agent: wait for the answer, or follow the turn as it runs.",
            handler=start.message,
            right="chat",
            query=(REPLACE,),
            body=CHAT,
            replies=OUTCOMES,
            problems=(400, 404, 409, 422, 429, 503),
        ),
        Route(
            method="POST",
            path=f"{SESSION}/turn",
            name="start_turn",
            about="Start a turn and follow its events until it ends or waits for a person.",
            handler=start.turn,
            right="chat",
            query=(DETACH, REPLACE, deliver(api)),
            body=START,
            replies={
                200: Reply(about="The turn's events.", media=SSE),
                202: Reply(about="The turn is committed.", component="Accepted"),
            },
            problems=(400, 404, 409, 422, 429, 503, *((501,) if api.channels else ())),
        ),
        Route(
            method="POST",
            path=f"{SESSION}/resume",
            name="resume",
            about="Answer the request that a turn waits on, and follow what comes of it.",
            handler=answer.resume,
            right="resume",
            query=(deliver(api),),
            body=RESUME,
            replies=OUTCOMES,
            problems=(400, 404, 409, 422, 500, 503, *((501,) if api.channels else ())),
        ),
        Route(
            method="POST",
            path=f"{SESSION}/turns/{{turn_id}}/cancel",
            name="cancel_turn",
            about="End a turn at its next boundary; what was committed stays.",
            handler=start.cancel,
            right="chat",
            body=EMPTY,
            body_optional=True,
            replies={
                200: Reply(about="It has ended.", component="Ending"),
                202: Reply(about="It runs, and was asked to end.", component="Ending"),
            },
            problems=(400, 404, 503),
        ),
        Route(
            method="POST",
            path=f"{SESSION}/reset",
            name="reset_session",
            about="Archive the session's history and begin anew under the same key.",
            handler=start.reset,
            right="chat",
            body=EMPTY,
            body_optional=True,
            replies={200: Reply(about="It is archived.", component="Reset")},
            problems=(400, 404, 503),
        ),
        Route(
            method="GET",
            path="/agents/{agent}/sessions/{history}/transcript",
            name="transcript",
            about="The conversation; of an archived generation under `<session>#g<number>`.",
            handler=read.transcript,
            right="read",
            replies={200: Reply(about="Its messages.", component="Transcript")},
            problems=(400, 404, 503),
        ),
        Route(
            method="GET",
            path=f"{SESSION}/turns/{{turn_id}}",
            name="turn",
            about="A turn as it stands; go on from it with its events after `last_seq`.",
            handler=read.turn,
            right="read",
            replies={200: Reply(about="The turn.", component="Snapshot")},
            problems=(400, 404, 503),
        ),
        Route(
            method="GET",
            path=f"{SESSION}/turns/{{turn_id}}/events",
            name="turn_events",
            about="A turn's events after a cursor: what was missed, then what happens."
            " As JSON: the durable ones so far.",
            handler=read.events,
            right="read",
            query=(AFTER,),
            headers=(LAST_EVENT_ID,),
            replies={
                200: Reply(about="Its events.", component="Events", media=SSE),
                204: Reply(about="The turn has ended and all was seen."),
            },
            problems=(400, 404, 409, 503),
        ),
    )


def channel_routes() -> tuple[Route, ...]:
    """One pair of routes for all channels: which webhooks there are is theirs to say."""
    shared: dict[str, str] = {"about": "A channel's webhooks.", "path": "/channels/{name}"}
    return tuple(
        Route(
            method=method,
            path=shared["path"] + tail,
            name=f"channel_{method.lower()}{'_below' if tail else ''}",
            about=shared["about"],
            handler=operate.channel,
            open=True,
            replies={200: Reply(about="The channel took it.")},
            problems=(400, 404, 405, 408, 413, 503),
        )
        for method in ("POST", "GET")
        for tail in ("", "/{tail}")
    )


def list_routes() -> tuple[Route, ...]:
    """The lists that operators, the CLI and the console work from."""
    states = ("queued", "running", "suspended", "completed", "failed", "cancelled", "timed_out")
    return (
        Route(
            method="GET",
            path="/sessions",
            name="sessions",
            about="Sessions, the latest active first.",
            handler=read.sessions,
            right="read",
            query=(
                named("agent", "Of one agent."),
                named(
                    "status", "In one status.", "new", "idle", "running", "suspended", "resetting"
                ),
                LIMIT,
            ),
            replies={200: Reply(about="The sessions.", component="Sessions")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path="/turns",
            name="turns",
            about="Turns, newest first.",
            handler=read.turns,
            right="read",
            query=(
                named("agent", "Of one agent."),
                named("session", "Of one session."),
                named("state", "In one state.", *states),
                LIMIT,
            ),
            replies={200: Reply(about="The turns.", component="Turns")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path="/approvals",
            name="approvals",
            about="Requests that wait for a person, oldest first.",
            handler=read.approvals,
            right="read",
            query=(LIMIT,),
            replies={200: Reply(about="The requests.", component="Approvals")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path="/approvals/{id}",
            name="approval",
            about="One request, open or decided.",
            handler=answer.approval,
            right="read",
            replies={200: Reply(about="The request.", component="Approval")},
            problems=(404, 503),
        ),
        Route(
            method="POST",
            path="/approvals/{id}",
            name="decide",
            about="Answer a request by its id.",
            handler=answer.decide,
            right="resume",
            body=DECIDE,
            replies={200: Reply(about="What the answer did.", component="Answered")},
            problems=(400, 404, 409, 422, 500, 503),
        ),
        Route(
            method="GET",
            path="/audit",
            name="audit",
            about="What was done that somebody may have to answer for, the latest first.",
            handler=read.audit,
            right="admin",
            query=(
                named("agent", "Of one agent."),
                named("session", "Of one session."),
                named("turn", "Of one turn."),
                BEFORE,
                LIMIT,
            ),
            replies={200: Reply(about="The rows.", component="Audit")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path="/agents",
            name="agents",
            about="The agents of this host and their tools.",
            handler=read.agents,
            right="read",
            replies={200: Reply(about="The agents.", component="Agents")},
        ),
        Route(
            method="GET",
            path="/status",
            name="status",
            about="One screen's worth of how this host is.",
            handler=operate.status,
            right="read",
            replies={200: Reply(about="The host.", component="Status")},
            problems=(503,),
        ),
    )


def host_routes() -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/healthz",
            name="healthz",
            about="Whether the process lives.",
            handler=operate.healthz,
            open=True,
            replies={200: Reply(about="It does.", component="Health")},
        ),
        Route(
            method="GET",
            path="/readyz",
            name="readyz",
            about="Whether the host takes turns, and if not, why.",
            handler=operate.readyz,
            open=True,
            replies={
                200: Reply(about="It does.", component="Readiness"),
                503: Reply(about="It doesn't.", component="Readiness"),
            },
        ),
        Route(
            method="GET",
            path="/metrics",
            name="metrics",
            about="Counters and gauges for Prometheus.",
            handler=operate.metrics,
            right="read",
            replies={200: Reply(about="The metrics.", media=("text/plain",))},
        ),
    )


def all_routes(api: Api) -> tuple[Route, ...]:
    lists = (*list_routes(), *delivery_routes(), *schedule_routes(), *mail_routes())
    return (*turn_routes(api), *lists, *host_routes(), *channel_routes())
