"""What was reported of other gateways in Slack: who decides, and what happens at the same time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from http.cookies import SimpleCookie
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from gateway.testing.slack import Fault, Install, Message, Shown
from tests.journeys.slack_clerk import clerk, desk, rest, said, turn_id, verdicts
from tests.journeys.slack_stage import Stage, pressed

pytestmark = pytest.mark.timeout(90)

FAST = 40.0
THEIRS = "and me"
WORDS = ("number 0", "number 1", THEIRS, "number 2", "number 3")
SUPERSEDED = "(superseded by a newer message)"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with clerk(tmp_path) as stage:
        yield stage


async def asked(on: Stage, words: str) -> tuple[Message, Shown]:
    root = await on.ask(f"@june ask about {words}")
    return root, await on.card(root)


def open_card(on: Stage, card: Shown) -> bool:
    return {"Approve", "Deny"} <= {button.label for button in on.now(card).buttons}


# -- who decides -----------------------------------------------------------------------------------------
async def test_where_no_list_says_who_only_the_asker_decides(on: Stage) -> None:
    root, card = await asked(on, "leave")
    office = on.office
    await office.lead.click(card, "Approve")
    assert "to decide" in await on.whispered(office.lead)
    await on.redeploy()
    await office.outsider.click(card, "Approve")
    await on.whispered(office.outsider)
    assert open_card(on, card)
    assert "It came to" not in said(on, root)
    assert on.told(office.asker) == []
    await office.asker.click(card, "Approve")
    await on.says(root, "leave was agreed to")
    await on.until(lambda: not open_card(on, card))
    await office.lead.forged(card, pressed(card, "Deny"))
    assert "lready approved" in await on.whispered(office.lead, 2)


async def test_each_kind_of_request_has_a_list_of_its_own(on: Stage) -> None:
    office, key = on.office, on.office.june.key
    desk(on).lists = {
        "money": (f"slack:{key}:{office.lead.id}",),
        "access": (f"slack:{key}:{office.second.id}",),
    }
    pay, pay_card = await asked(on, "pay under money")
    door, door_card = await asked(on, "door under access")
    await office.second.click(pay_card, "Approve")
    await office.lead.click(door_card, "Approve")
    await office.asker.click(pay_card, "Approve")
    for person in (office.second, office.lead, office.asker):
        assert "to decide" in await on.whispered(person)
    assert open_card(on, pay_card)
    assert open_card(on, door_card)
    await office.lead.click(pay_card, "Approve")
    await office.second.click(door_card, "Deny")
    await on.says(pay, "pay was agreed to")
    await on.says(door, "door was refused")


async def test_five_cards_pressed_out_of_order_each_decide_what_they_show(on: Stage) -> None:
    names = ("one", "two", "three", "four", "five")
    made = [await asked(on, name) for name in names]
    for number in (3, 0, 4, 1, 2):
        await on.office.asker.click(made[number][1], "Deny" if number % 2 else "Approve")
    for number, (root, card) in enumerate(made):
        came = "refused" if number % 2 else "agreed to"
        await on.says(root, f"It came to this: {names[number]} was {came}")
        await on.until(lambda: not open_card(on, card))  # noqa: B023 - waited for at once
        assert ("Denied by" if number % 2 else "Approved by") in on.now(card).text
        assert said(on, root).count("It came to this") == 1
    assert on.told(on.office.asker) == []


async def test_the_button_of_another_card_decides_nothing(on: Stage) -> None:
    one, one_card = await asked(on, "one")
    two, two_card = await asked(on, "two")
    await on.office.asker.forged(two_card, pressed(one_card, "Approve"))
    await on.whispered(on.office.asker)
    assert open_card(on, one_card)
    assert open_card(on, two_card)
    assert "It came to" not in said(on, one) + said(on, two)


# -- messages that come while it answers -------------------------------------------------------------------
async def test_one_that_is_cut_short_says_nothing_of_the_answer_before_it(tmp_path: Path) -> None:
    async with clerk(tmp_path, REPLACE="speaker") as on:
        root = await on.ask("@june hello")
        await on.says(root, "You said: hello")
        await on.ask("in two halves", root)
        await on.until(lambda: "The first half." in said(on, root))
        last = await on.ask("sorry, this", root)
        await on.slack.settled(20.0)
        desk(on).gate.set()  # a call under way comes to its end
        await on.says(root, "You said: sorry, this")
        await rest(on, last)
        texts = [shown.text for shown in on.office.by_june(root)]
        assert len(texts) == 3
        assert texts[0] == "You said: hello"
        assert texts[1].startswith("The first half.")
        assert texts[1].count(SUPERSEDED) == 1
        assert texts[2] == "You said: sorry, this"


async def test_an_answer_that_is_corrected_before_it_is_said_stays_unsaid(tmp_path: Path) -> None:
    async with clerk(tmp_path, REPLACE="speaker") as on:
        root = await on.ask("@june hold on: one")
        await on.until(lambda: len(desk(on).asked) == 1)
        last = await on.ask("two", root)
        await on.slack.settled(20.0)
        desk(on).gate.set()
        await on.says(root, "You said: two")
        await rest(on, root, last)
        assert "You said: hold on" not in said(on, root)
        assert said(on, root).count("You said: two") == 1


@pytest.mark.parametrize("mode", ["", "speaker", "thread"])
async def test_of_five_messages_during_a_turn_none_is_lost(tmp_path: Path, mode: str) -> None:
    async with clerk(tmp_path, REPLACE=mode) as on:
        root = await on.ask("@june hold on: zero")
        await on.until(lambda: len(desk(on).asked) == 1)
        posts: list[Message] = []
        for words in WORDS:
            who = on.office.colleague if words == THEIRS else on.office.asker
            posts.append(await who.say(on.office.orders, words, thread=root))
            await on.slack.settled(20.0)  # they arrive in their order
        desk(on).gate.set()
        await rest(on, root, *posts)
        for post in (root, *posts):
            judged = {row.verdict for row in await verdicts(on, post)}
            assert judged <= {"accepted", "duplicate"}
            assert "accepted" in judged
        session = on.host.runtime.session("june", on.office.session(root))
        ends = [(await session.snapshot(turn_id(on, post))).state for post in (root, *posts)]
        assert set(ends) <= {"completed", "cancelled"}
        for asked_for, state in zip(("hold on: zero", *WORDS), ends, strict=True):
            assert said(on, root).count(f"You said: {asked_for}") == (state == "completed")
        assert ends[-1] == "completed"
        assert (ends[0] == "cancelled") is bool(mode)
        assert mode or "cancelled" not in ends
        assert ends[3] == "completed" or mode == "thread", "somebody else's"
        assert desk(on).most == 1


@pytest.mark.parametrize("mode", ["speaker", "thread"])
async def test_an_older_message_that_comes_late_ends_nothing_newer(
    tmp_path: Path, mode: str
) -> None:
    async with clerk(tmp_path, REPLACE=mode) as on:
        root = await on.ask("@june hello")
        await on.says(root, "You said: hello")
        late = on.slack.faults.add(Fault("event_late", "event:message", seconds=8.0))
        older = await on.ask("old words", root)
        newer = await on.ask("hold on: new words", root)
        await on.until(lambda: any("new words" in told for told in desk(on).asked))
        assert not any("old words" in told for told in desk(on).asked)
        await on.slack.settled(20.0)
        assert late.struck == 1
        desk(on).gate.set()
        await rest(on, older, newer)
        assert said(on, root).count("You said: hold on: new words") == 1
        assert SUPERSEDED not in said(on, root)


async def test_a_long_turn_and_a_message_in_its_last_seconds_never_overlap(
    tmp_path: Path,
) -> None:
    async with clerk(tmp_path, FAST) as on:
        root = await on.ask("@june hold on: one")
        await on.until(lambda: len(desk(on).asked) == 1)
        await on.time.sleep(35.0)
        last = await on.ask("two", root)
        await on.time.sleep(10.0)
        assert len(desk(on).asked) == 1
        desk(on).gate.set()
        await rest(on, root, last)
        texts = [shown.text for shown in on.office.by_june(root)]
        assert texts == ["You said: hold on: one", "You said: two"]
        assert desk(on).most == 1


# -- workspaces --------------------------------------------------------------------------------------------
async def installed(on: Stage, team: str) -> None:
    """Somebody there installs the app in their browser."""
    here = URL(on.slack.app().request_url)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as browser:
        begun = await browser.get(here / "install", allow_redirects=False)
        cookie = SimpleCookie("; ".join(begun.headers.getall("Set-Cookie")))
        asked = URL(begun.headers["Location"]).update_query(team=team)
        agreed = await browser.get(asked, allow_redirects=False)
        back = URL(agreed.headers["Location"])
        kept = "; ".join(f"{name}={one.value}" for name, one in cookie.items())
        page = await browser.get(
            (here / "oauth/callback").with_query(back.query), headers={"Cookie": kept}
        )
        assert page.status == 200, await page.text()


async def test_people_of_the_same_name_in_two_workspaces_share_nothing(on: Stage) -> None:
    slack, app = on.slack, on.slack.app()
    other = slack.workspace("globex")
    namesake = other.person("asker")
    on.settings = {
        **on.settings,
        "SLACK_BOT_TOKEN": "",
        "SLACK_CLIENT_ID": app.client_id,
        "SLACK_CLIENT_SECRET": app.client_secret,
        "GATEWAY_SECRET_KEYS": "k" * 64,
        "GATEWAY_PUBLIC_URL": "https://gateway.example",
    }
    await on.redeploy()
    for team in (on.office.june.key, other.id):
        await installed(on, team)
    there: Install = next(one for one in slack.world.installs if one.team == other.id)
    orders = other.channel("orders", [there, namesake])
    mine, theirs = await on.ask("@june hello"), await namesake.say(orders, "@june good day")
    await on.says(mine, "You said: hello")
    await on.until(lambda: len(slack.thread(orders, theirs)) == 2)
    assert slack.thread(orders, theirs)[-1].text == "You said: good day"
    home = {on.office.orders.id: on.office.june.key, orders.id: other.id}
    calls = [call for call in slack.journal.calls if call.arguments.get("channel") in home]
    assert {call.team for call in calls} == set(home.values())
    assert all(call.team == home[str(call.arguments["channel"])] for call in calls)
    speakers = [f"slack:{team}:" for team in home.values()]
    first, second = sorted(desk(on).asked, key=lambda told: "good day" in told)
    assert speakers[0] in first
    assert speakers[1] not in first
    assert speakers[1] in second
    assert speakers[0] not in second
