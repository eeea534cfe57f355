"""The scenes that play in Slack: a question in a thread, and a refund that a button approves."""

from __future__ import annotations

from gateway.cli.demo import proof
from gateway.cli.demo.office import Office
from gateway.cli.demo.theatre import Theatre, until
from gateway.cli.told import text_of
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import Fault, Message, Shown

ABOVE = "the kettle for a café in Lyon came back in pieces"
NOTE = "arrived broken"
STATUS, STREAM = "agents.sessions.setStatus", "chat.startStream"
WRITES = (STREAM, "chat.postMessage")
"""A message begins: as a stream while more is to come, or whole."""


async def mention(on: Theatre, office: Office) -> None:
    slack, orders = office.slack, office.orders
    root = await office.colleague.say(orders, ABOVE)
    await office.lead.say(orders, "that is the second one this week", thread=root)
    slack.faults.add(Fault("event_twice", "event:app_mention"))

    asked = "where is order 1042?"
    on.stage.says("asker", f"@june {asked}   (in a thread of two colleagues)")
    await office.asker.say(orders, f"@june {asked}", thread=root)
    await office.until("an answer", lambda: bool(office.saying(root, "1042")) and _quiet(office))
    await office.until("the end of it", lambda: office.at_rest(root))
    answer = office.saying(root, "Order 1042")
    show(on, answer)
    calls = [call.method for call in slack.journal.calls if call.applied]
    streams = STREAM in calls
    on.stage.that(
        "it wrote one message, and where it streamed, a status came first",
        len([name for name in calls if name in WRITES]) == 1
        and (not streams or STATUS in calls[: calls.index(STREAM)]),
        calls,
    )
    done = [(task.title, task.status) for shown in answer for task in shown.tasks]
    on.stage.that(
        "the look-up stands above the answer, as done",
        done == [("Looking up order 1042", "complete")],
        done,
    )
    session = office.session(root)
    told = str((await on.transcript(session))[:1])
    read = slack.journal.count("conversations.replies")
    on.stage.that(
        "what was said before it came is read once, and known to it",
        read == 1 and ABOVE in told,
        told,
    )
    on.stage.that(
        "Slack told it in two events and one of them twice: one answer",
        len(office.by_june(root)) == 1,
        [shown.text for shown in office.by_june(root)],
    )

    asked = "and 1043?"
    on.stage.says("colleague", f"{asked}   (without a mention)")
    await office.colleague.say(orders, asked, thread=root)
    await office.until("an answer", lambda: bool(office.saying(root, "Order 1043")))
    await office.until("the end of it", lambda: office.at_rest(root))
    seen = [shown.text for shown in office.saying(root, "Order 1043")]
    on.stage.that(
        "it takes part in the thread, so that was for it, too: once", len(seen) == 1, seen
    )
    await _cut_short(on, office, root)
    loud = [ping for ping in slack.pinged if ping.by == office.june.user]
    on.stage.that("nobody was pinged by what it wrote", not loud, loud)


async def _cut_short(on: Theatre, office: Office, root: Message) -> None:
    """The process dies while its answer is being written."""
    journal = office.slack.journal
    before = journal.count(*WRITES)
    asked = "and what about 1044?"
    on.stage.says("asker", asked)
    turn = await office.asker.say(office.orders, asked, thread=root)
    await office.until("a message", lambda: journal.count(*WRITES) > before)
    await on.crash("while it writes its answer")
    await office.until("an answer", lambda: bool(office.saying(root, "Order 1044")))
    # Where it isn't known what of the stream arrived, that is ended first, and rewritten whole then.
    await on.settled()
    await office.until("the end of it", lambda: office.at_rest(root))
    session, turn_id = office.session(root), f"slack:{office.june.key}:{turn.channel}:{turn.ts}"
    whole = text_of((await on.snapshot(session, turn_id)).get("text"))
    shown = office.saying(root, "Order 1044")
    show(on, shown)
    seen = [message.text for message in shown]
    on.stage.that(
        "one answer, and it is whole",
        len(shown) == 1 and bool(whole) and seen[0].count(whole) == 1,
        seen,
    )


async def refund(on: Theatre, office: Office) -> None:
    on.stage.says("asker", "@june refund 1042, it arrived broken")
    root = await office.asker.say(office.orders, "@june refund 1042, it arrived broken")
    await office.until("a card", lambda: office.card(root) is not None)
    card = next(shown for shown in office.by_june(root) if shown.buttons)
    show(on, [card])
    buttons = [button.label for button in card.buttons]
    on.stage.that(
        "the card shows what would run, and who decides",
        all(part in card.text for part in ("issue_refund", "1042", "42.50", "@support-leads"))
        and {"Approve", "Deny"} <= set(buttons),
        card.text,
    )
    await office.until("the status", lambda: office.status(root) == "suspended")
    on.stage.that("nothing is paid while it waits for a person", not proof.refunds(on.state))
    await on.crash("while it waits for a person")

    on.stage.says("outsider", "presses Approve")
    await office.outsider.click(card, "Approve")
    await office.until("a word", lambda: bool(office.slack.private(office.outsider)))
    told = [shown.text for shown in office.slack.private(office.outsider)]
    on.stage.that(
        "who may not decide is told so, alone, and the card stays",
        "@support-leads" in told[0] and office.card(root) is not None,
        told,
    )
    on.stage.says("lead", "presses Approve, twice, fast")
    press = [_as_pressed(card, "Approve")]
    await office.lead.forged(card, press)
    await office.lead.forged(card, press)
    await until("the payment", lambda: bool(proof.refunds(on.state)))
    receipt = await on.post("demo-note", f"note on order 1042: {NOTE}", "note")
    await on.crash("after the money moved, before the answer came")

    await office.until("an answer", lambda: bool(office.saying(root, "Refunded $42.50")))
    await office.until("the end of it", lambda: office.at_rest(root))
    show(on, office.saying(root, "Refunded $42.50"))
    await office.until("a card without buttons", lambda: office.card(root) is None)
    paid = proof.refunds(on.state)
    on.stage.that(
        f"nobody asked it to, and it went on: the provider was asked {paid[0].asked} times under one"
        f" key, and paid once: ${paid[0].amount}",
        len(paid) == 1 and paid[0].asked == 2,
        paid,
    )
    settled = next(shown for shown in office.by_june(root) if shown.ts == card.ts)
    on.stage.that(
        "the card says who approved, and has no buttons any more",
        "Approved by" in settled.text and not settled.buttons,
        settled.text,
    )
    on.stage.says("lead 2", "presses Approve on a phone that still shows the buttons")
    await office.second.forged(card, press)
    await office.until("a word", lambda: bool(office.slack.private(office.second)))
    told = [shown.text for shown in office.slack.private(office.second)]
    on.stage.that("they alone are told who was first", "lready approved by" in told[0], told)

    session = office.session(root)
    on.stage.prove(proof.gapless(await on.log(session, session)))
    on.stage.prove(proof.paired(await on.transcript(session)))
    await until("the note", lambda: NOTE in proof.notes(on.state))
    noted = proof.notes(on.state)
    on.stage.that(
        "a note accepted in the last moment before the crash is on the order, once",
        receipt == 202 and noted.count(NOTE) == 1,
        noted,
    )


def _as_pressed(card: Shown, label: str) -> JsonObject:
    button = next(button for button in card.buttons if button.label == label)
    return {
        "type": "button",
        "action_id": button.action_id,
        "block_id": button.block_id,
        "value": button.value,
        "text": {"type": "plain_text", "text": label},
    }


def _quiet(office: Office) -> bool:
    return all(sent.over for sent in office.slack.journal.deliveries)


def show(on: Theatre, messages: list[Shown]) -> None:
    """Messages as they stand on the screen: their timeline, their words, their buttons in a row."""
    for message in messages:
        for task in message.tasks:
            on.stage.task(task.title, task.status)
        above = {f"[{task.status}] {task.title}" for task in message.tasks}
        pressed = {f"[{button.label}]": button.label for button in message.buttons}
        words = [line for line in message.text.splitlines() if line not in above | pressed.keys()]
        row = "  ".join(pressed)
        on.stage.says("june", "\n".join([*words, *([row] if row else [])]))
