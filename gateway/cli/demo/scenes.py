"""The scenes. Each ends with what it proved."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from gateway.cli.demo import proof
from gateway.cli.demo.crowd import crowd
from gateway.cli.demo.digest import digest
from gateway.cli.demo.hosting import HostProcess
from gateway.cli.demo.inbox import inbox
from gateway.cli.demo.office import Office
from gateway.cli.demo.post import PostOffice
from gateway.cli.demo.slack_scenes import mention, refund
from gateway.cli.demo.stage import Stage
from gateway.cli.demo.theatre import Theatre
from gateway.cli.told import object_of, text_of, whole

LEAD = "demo:leads:first"


async def play(
    stage: Stage, host: HostProcess, office: Office, post: PostOffice, state: Path
) -> None:
    async with AsyncExitStack() as stack:
        theatre = Theatre(stage, host, state, stack)
        with stage.waiting("starting a host…"):
            await theatre.start()
        await office.open_to(theatre.client.url)
        stage.scene(1, "A question in a Slack thread, and a crash in mid-answer")
        await mention(theatre, office)
        stage.scene(2, "A refund by button that outlives two crashes")
        await refund(theatre, office)
        stage.scene(3, "A refund that is denied, by way of the API")
        await denied(theatre)
        stage.scene(4, "Many conversations, one crash in the middle")
        await crowd(theatre)
        host.lend(post.settings)  # its next start reads mail, too
        stage.scene(5, "A digest by cron, and a crash just before its time")
        await digest(theatre, office)
        stage.scene(6, "A refund asked for by mail, approved in Slack, over a crash")
        await inbox(theatre, post)


async def denied(on: Theatre) -> None:
    session, turn = "demo-denied", "denied"
    await on.ask(session, "refund order 1044 please", turn)
    snapshot = await on.snapshot(session, turn)
    request = object_of(snapshot.get("request"))
    reason = "we send a new one instead"
    on.stage.says("lead", f'denies: "{reason}"')
    await on.decide(request, False, LEAD, reason)
    events = await on.watch(session, turn, whole(snapshot.get("last_seq")))
    text = text_of(events[-1].get("text")) if events else ""
    on.stage.that("the agent read the reason and answered in kind", reason in text, text)
    orders = [paid.order_id for paid in proof.refunds(on.state)]
    on.stage.that("nothing was paid for it", "1044" not in orders, orders)
