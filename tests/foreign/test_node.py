"""Clients that nobody here wrote, in another language, against the emulator: they ask, stream, wait for a
click, answer it, and are told of trouble, all by the platform's rules as their makers know them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from channels.slack.emulator import Message
from gateway.testing.slack import Fault, Playground, Shown, playground
from tests.foreign.clients import Way, running, start

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(90)]

PATIENCE = 20.0  # for a process on a busy machine; nothing here is timed
STEP = "[complete] Looking up order 1042\n"
WAYS = pytest.mark.parametrize("way", ["http", "socket"])


class Thread:
    """What ada sees below the message in which she asked."""

    def __init__(self, play: Playground, asked: Message) -> None:
        self.play, self.asked = play, asked

    @property
    def answers(self) -> list[Shown]:
        return self.play.slack.thread(self.play.support, self.asked)[1:]

    @property
    def texts(self) -> list[str]:
        return [answer.text for answer in self.answers]

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            await self.play.slack.until(holds, PATIENCE)
        except TimeoutError:
            journal = self.play.slack.journal
            calls = [(call.method, call.error or call.status) for call in journal.calls]
            pytest.fail(f"it didn't come to that. there is {self.texts}; calls: {calls}")

    async def card(self) -> Shown:
        """The message with buttons, once it is there whole."""
        await self.until(lambda: any(answer.buttons for answer in self.answers))
        (card,) = [answer for answer in self.answers if answer.buttons]
        return card


async def ask(play: Playground) -> Thread:
    return Thread(play, await play.ada.mention(play.support, "@june where is order 1042?"))


async def nothing_else(play: Playground, *threads: Thread) -> None:
    """Everything was acknowledged at once, is where it belongs, and disturbed nobody."""
    await play.slack.settled(PATIENCE)
    journal = play.slack.journal
    assert [sent.type for sent in journal.deliveries if not sent.acked] == []
    assert {len(sent.attempts) for sent in journal.deliveries} == {1}
    inside = {answer.ts for thread in threads for answer in thread.answers}
    inside |= {thread.asked.ts for thread in threads}
    assert {shown.ts for shown in play.slack.shown(play.support)} == inside
    assert (play.slack.pinged, journal.trouble, journal.overlaps) == ([], [], [])


@WAYS
async def test_bolt_streams_an_answer_and_is_told_of_a_click(way: Way) -> None:
    async with playground() as play, running("bolt.mjs", way, play) as client:
        thread = await ask(play)
        card = await thread.card()
        assert thread.texts == [STEP + "Order 1042 is **lost**. Refund it?\n[Approve]\n[Deny]"]
        await play.ada.click(card, "Approve")
        await thread.until(lambda: thread.texts == ["Order 1042 refunded, said ada."])
        await nothing_else(play, thread)
        journal = play.slack.journal
        assert journal.count("chat.startStream") == journal.count("chat.stopStream") == 1
        assert journal.count("chat.postMessage", "chat.update") == 0
        assert len(journal.events("block_actions")) == 1
    assert client.said == []


@WAYS
async def test_bolt_asks_for_a_reason_in_a_modal(way: Way) -> None:
    async with playground() as play, running("bolt.mjs", way, play) as client:
        june = play.slack.app()
        thread = await ask(play)
        await play.ada.click(await thread.card(), "Deny")
        await thread.until(lambda: play.ada.modal(june) is not None)
        await play.ada.submit(june, {"Reason": "no"})
        modal = play.ada.modal(june)
        assert modal is not None
        assert modal.errors == {"why": "Say a little more."}
        await play.ada.submit(june, {"Reason": "it was found"})
        await thread.until(lambda: thread.texts == ["Not refunded: it was found"])
        assert play.ada.modal(june) is None
        await nothing_else(play, thread)
    assert client.said == []


async def test_bolt_tries_again_when_it_is_told_to() -> None:
    async with playground() as play, running("bolt.mjs", "http", play) as client:
        play.slack.faults.add(Fault("rate_limited", "chat.appendStream", seconds=1))
        thread = await ask(play)
        await thread.card()
        assert thread.texts == [STEP + "Order 1042 is **lost**. Refund it?\n[Approve]\n[Deny]"]
        appended = play.slack.journal.of("chat.appendStream")
        assert [call.status for call in appended] == [429, 200, 200, 200]
    assert len(client.said) == 1
    assert "retry-after: 1" in client.said[0]


@WAYS
async def test_chat_sdk_streams_an_answer_and_is_told_of_a_click(way: Way) -> None:
    async with playground() as play, running("chat.mjs", way, play) as client:
        thread = await ask(play)
        card = await thread.card()
        answer = STEP + "Order 1042 is **lost**.\n\nIt left on Monday and never came."
        assert thread.texts == [answer, "Order 1042\nRefund it?\n[Approve]\n[Deny]"]
        await play.ada.click(card, "Approve")
        await thread.until(lambda: thread.texts == [answer, "Order 1042 refunded, said ada."])
        await nothing_else(play, thread)
        journal = play.slack.journal
        assert journal.count("chat.startStream") == journal.count("chat.stopStream") == 1
        assert journal.count("chat.postMessage") == journal.count("chat.update") == 1
        assert len(journal.events("block_actions")) == 1
    assert client.said == []


async def test_chat_sdk_goes_on_in_a_new_message_when_its_stream_expired() -> None:
    async with playground() as play, running("chat.mjs", "http", play) as client:
        play.slack.faults.add(Fault("stream_expired", "chat.stopStream"))
        thread = await ask(play)
        await thread.card()
        broken, rest, _ = thread.answers
        assert broken.broken
        assert broken.text.endswith("Order 1042 is **lost**.\n\n")
        assert rest.text == "It left on Monday and never came."
    assert len(client.said) == 1
    assert "stream expired before stop" in client.said[0]


async def test_a_client_that_leaves_this_machine_fails() -> None:
    tries = (
        "const said = (error) => console.log(String(error.cause ?? error));"
        "await fetch('https://192.0.2.1/').catch(said);"
        "(await import('node:https')).get('https://slack.example/').on('error', said);"
    )
    client = await start({}, "--input-type=module", f"--eval={tries}")
    await client.release()
    told = "\n".join(client.said)
    assert "tried to reach 192.0.2.1" in told
    assert "tried to reach slack.example" in told
