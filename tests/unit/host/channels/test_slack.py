"""June in a Slack that is the emulator, through a whole host: asked, answered, asked to agree, clicked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.config import Settings
from gateway.host.app import make_app
from gateway.host.compose import open_host
from gateway.testing.slack import Playground, Shown, SlackEmulator, furnish, settings_for
from gateway.testing.time import ScaledTime
from tests.support.http import on_socket
from tests.unit.host.world import until

AGENT = Path(__file__).parents[4] / "agent"


@dataclass(frozen=True, slots=True)
class Scene:
    play: Playground

    def thread(self, root: object) -> list[Shown]:
        return self.play.slack.thread(self.play.support, root)  # type: ignore[arg-type]

    async def last(self, root: object, words: str) -> Shown:
        """The last message of a thread, once it says this."""
        await until(lambda: words in self.thread(root)[-1].text)
        return self.thread(root)[-1]


@asynccontextmanager
async def scene(tmp_path: Path, *, socket: bool = False) -> AsyncGenerator[Scene, None]:
    time = ScaledTime(20)
    async with SlackEmulator(time=time) as slack:
        play = furnish(slack)
        app = slack.world.apps[play.june.app]
        app.socket = socket
        read = {
            **settings_for(slack, play.june),
            "REFUND_APPROVERS": f"slack:{play.acme.team.id}:{play.ada.id}",
            "GATEWAY_STATE": str(tmp_path),
            "GATEWAY_AGENT": str(AGENT),
            "GATEWAY_MODEL": "scripted",
        }
        settings = Settings.load(read, toml_path=None)
        async with (
            open_host(settings, works=True, clock=time.clock, waits=time) as host,
            on_socket(make_app(host.api)) as url,
        ):
            app.request_url = app.interactivity_url = f"{url}/channels/slack"
            yield Scene(play)


@pytest.mark.parametrize("socket", [False, True])
async def test_a_question_is_answered_in_its_thread(tmp_path: Path, socket: bool) -> None:
    async with scene(tmp_path, socket=socket) as here:
        play = here.play
        asked = await play.ada.mention(play.support, "@june where is order 1042?")
        said = await here.last(asked, "is delivered")
        assert said.text.startswith("[complete] Looking up order 1042\nOrder 1042 (1 glass kettle")
        await play.ada.say(play.support, "and 1043?", thread=asked)
        await here.last(asked, "in transit")
        assert len(here.thread(asked)) == 4


async def test_a_refund_is_agreed_to_by_a_click(tmp_path: Path) -> None:
    async with scene(tmp_path) as here:
        play = here.play
        asked = await play.ada.mention(play.support, "@june refund 1042, it arrived broken")
        await until(lambda: any(one.buttons for one in here.thread(asked)))
        (card,) = (one for one in here.thread(asked) if one.buttons)
        await play.ada.click(card, "Approve")
        await here.last(asked, "Refunded $42.50")
        assert not any(one.buttons for one in here.thread(asked))
