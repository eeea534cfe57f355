"""The playground's support inbox in a real Dovecot: written to, read, answered; and done without where it can't be."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
from pathlib import Path

import aiohttp
import pytest

from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.playground.mail.menu import MENU
from gateway.playground.mail.office import ADA, SUPPORT
from gateway.playground.mail.reading import letters
from gateway.playground.running import open_playground
from tests.support.mail.dovecot import needs_dovecot
from tests.support.playing import Playing, playing

pytestmark = [pytest.mark.mail, needs_dovecot, pytest.mark.timeout(60)]

JSON = {"Accept": "application/json"}
SEEN = 30.0


async def do(play: Playing, http: aiohttp.ClientSession, act: str, **form: str) -> str:
    """What the person is told."""
    url, filled = f"{play.url}/mail/{act}", {"as": "ada", **form}
    async with http.post(url, data=filled, headers=JSON) as answer:
        return str((await answer.json())["note"])


async def answered(play: Playing, subject: str) -> None:
    def there() -> bool:
        return any(
            one.author == SUPPORT and subject in one.subject for one in letters(play.mail, ADA)
        )

    async with asyncio.timeout(SEEN):
        while not there():
            await asyncio.sleep(0.02)


async def test_mail_is_read_from_dovecot_and_answered_and_the_page_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gateway.playground")
    async with playing(tmp_path, mail="auto") as play, aiohttp.ClientSession() as http:
        box = play.mail.dovecot
        assert box is not None
        assert f"lies in Dovecot, on port {box.imap_port}" in caplog.text
        assert f":{box.imap_port}/INBOX" in str(play.host.settings.email_imap_url)
        assert not await do(play, http, "write", subject="First", text="Where is order 1042?")
        await answered(play, "First")
        [(number, fault)] = [(n, one) for n, one in enumerate(MENU) if one.embedded]
        assert "gateway dev --mail embedded" in await do(play, http, "fault", fault=str(number))
        async with http.get(f"{play.url}/mail") as page:
            text = await page.text()
            assert f"{fault.name}: Dovecot can't" in text
            assert "the support inbox lies in Dovecot" in text
    assert not box.running


@pytest.mark.slow
async def test_what_is_written_while_dovecot_is_away_is_answered_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path, mail="dovecot") as play, aiohttp.ClientSession() as http:
        box = play.mail.dovecot
        assert box is not None
        for subject, went in (("First", "by itself"), ("Second", "taken down")):
            if went == "by itself":
                assert box._process is not None
                os.kill(box._process.pid, signal.SIGKILL)
            else:
                await do(play, http, "down")
            async with asyncio.timeout(SEEN):
                while not play.mail.down:
                    await asyncio.sleep(0.02)
            await do(play, http, "write", subject=subject, text="Where is order 1042?")
            assert not await do(play, http, "repair")
            await answered(play, subject)


async def test_where_dovecot_cant_start_the_embedded_server_has_the_inbox_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deep = tmp_path / ("a" * 100)  # too long for the path of a socket
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    settings = Settings.load({"GATEWAY_STATE": str(tmp_path)}, toml_path=None)
    async with open_playground(settings, "auto") as playground:
        assert playground.mail.dovecot is None
        port = playground.mail.server.ports.imap
        assert f":{port}/" in str(playground.settings.email_imap_url)
    assert "so the embedded server has it: " in caplog.text
    with pytest.raises(ConfigError, match="Dovecot can't have the support inbox"):
        async with open_playground(settings, "dovecot"):
            pass
    assert not list(deep.iterdir())
