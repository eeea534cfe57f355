"""The scenes. Each ends with what it proved."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from gateway.cli.demo import proof
from gateway.cli.demo.crowd import crowd
from gateway.cli.demo.hosting import HostProcess
from gateway.cli.demo.stage import Stage
from gateway.cli.demo.theatre import Theatre, until
from gateway.cli.timeline import object_of, text_of, whole

LEAD = "demo:leads:first"
OUTSIDER = "demo:visitors:first"
NOTE = "arrived broken"


async def play(stage: Stage, host: HostProcess, state: Path) -> None:
    async with AsyncExitStack() as stack:
        theatre = Theatre(stage, host, state, stack)
        with stage.waiting("starting a host…"):
            await theatre.start()
        stage.scene(1, "A question")
        await question(theatre)
        stage.scene(2, "A refund that outlives two crashes")
        await refund(theatre)
        stage.scene(3, "A refund that is denied")
        await denied(theatre)
        stage.scene(4, "Many conversations, one crash in the middle")
        await crowd(theatre)


async def question(on: Theatre) -> None:
    events = await on.ask("demo-question", "where is order 1042?", "question")
    kinds = [text_of(event.get("type")) for event in events]
    pieces = kinds.count("message.delta")
    looked_up = "action.completed" in kinds and kinds.index("action.completed") < max(
        (i for i, kind in enumerate(kinds) if kind == "message.completed"), default=-1
    )
    on.stage.that("the order was looked up before the answer was written", looked_up, kinds)
    on.stage.that(f"the answer streamed, in {pieces} pieces", pieces > 1, kinds)


async def refund(on: Theatre) -> None:
    session, turn = "demo-refund", "refund"
    await on.ask(session, "refund order 1042, it arrived broken", turn)
    before = object_of((await on.snapshot(session, turn)).get("request"))
    on.stage.that("nothing is paid while it waits for a person", not proof.refunds(on.state))

    await on.crash("while it waits for a person")
    snapshot = await on.snapshot(session, turn)
    request = object_of(snapshot.get("request"))
    on.stage.that(
        "it still waits: the same request, with the same digest",
        snapshot.get("state") == "suspended" and request == before,
        snapshot,
    )
    status, told = await on.decide(request, True, OUTSIDER)
    state = (await on.snapshot(session, turn)).get("state")
    on.stage.that(
        "who may not decide is refused, and the request stays open",
        status == 403 and state == "suspended",
        f"{status} {state} {told}",
    )

    on.stage.says("lead", "approves")
    status, told = await on.decide(request, True, LEAD)
    accepted = status == 200 and told.get("outcome") == "approved"
    on.stage.that("the lead's approval is accepted", accepted, told)
    await until("the payment", lambda: bool(proof.refunds(on.state)))
    receipt = await on.post("demo-note", f"note on order 1042: {NOTE}", "note")
    await on.crash("after the money moved, before the answer came")

    await on.watch(session, turn, whole(snapshot.get("last_seq")))
    end = await on.snapshot(session, turn)
    on.stage.that("nobody asked it to, and it finished by itself", end["state"] == "completed", end)
    paid = proof.refunds(on.state)
    asked = paid[0].asked if paid else 0
    on.stage.that(
        f"the provider was asked {asked} times under one key, and paid once: ${paid[0].amount}"
        if paid
        else "the refund is in the provider's books",
        len(paid) == 1 and asked == 2,
        paid,
    )
    on.stage.prove(proof.gapless(await on.log(session, turn)))
    on.stage.prove(proof.paired(await on.transcript(session)))
    status, told = await on.decide(request, True, LEAD)
    named = status == 409 and LEAD in text_of(told.get("by"))
    on.stage.that("a second click is told that it was decided, and by whom", named, told)
    await until("the note", lambda: NOTE in proof.notes(on.state))
    noted = proof.notes(on.state)
    on.stage.that(
        "a note accepted in the last moment before the crash is on the order, once",
        receipt == 202 and noted.count(NOTE) == 1,
        noted,
    )


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
