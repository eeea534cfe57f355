"""``gateway fakes start``: it says where it listens, is what it says, and stops when told."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from imaplib import IMAP4
from pathlib import Path
from smtplib import SMTP
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.support.cli import COMMAND, Shell
from tests.support.http import connect

pytestmark = pytest.mark.timeout(60)  # starts a process


@contextmanager
def started(shell: Shell, *args: str) -> Iterator[dict[str, Any]]:
    """A stand-in in a process of its own, and what it says about itself."""
    process = subprocess.Popen(
        [*COMMAND, "--json", "fakes", "start", *args],
        cwd=shell.folder,
        env=shell.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=10)
        yield cast("dict[str, Any]", json.loads(line))
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err.decode()
    assert not err, err.decode()


async def test_slack_can_be_talked_to(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "slack") as said:
        settings = said["settings"]
        slack = {"SLACK_API_URL", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN"}
        assert set(settings) == {*slack, "DATABASE_URL"}
        client = AsyncWebClient(
            token=settings["SLACK_BOT_TOKEN"], base_url=f"{settings['SLACK_API_URL']}/"
        )
        assert (await client.auth_test())["user_id"] == said["bot"]
        control = said["control"]
        async with connect(control["url"], control["secret"]) as stage:
            hers = {"user": said["user"], "channel": said["channel"], "text": "@june hi"}
            asked = (await stage.post("/say", hers)).json
            await client.chat_postMessage(
                channel=said["channel"], thread_ts=str(asked["ts"]), text="hello"
            )
            query = f"channel={said['channel']}&ts={asked['ts']}"
            seen = (await stage.get(f"/thread?{query}")).rows("messages")
        assert [message["author"] for message in seen] == ["ada", "june"]


async def test_what_happens_after_a_restart_has_ids_of_its_own(tmp_path: Path) -> None:
    people: list[tuple[str, str, str]] = []
    files: list[str] = []
    for _ in range(2):
        with started(Shell(tmp_path), "slack") as said:
            settings = said["settings"]
            client = AsyncWebClient(
                token=settings["SLACK_BOT_TOKEN"], base_url=f"{settings['SLACK_API_URL']}/"
            )
            made = await client.files_getUploadURLExternal(filename="a.txt", length=1)
            files.append(str(made["file_id"]))
            people.append((said["user"], said["channel"], said["bot"]))
    assert people[0] == people[1]
    assert files[0] != files[1]


async def test_slack_by_http_hands_out_a_signing_secret(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "slack", "--events", "http://127.0.0.1:9/slack") as said:
        assert "SLACK_SIGNING_SECRET" in said["settings"]
        assert "SLACK_APP_TOKEN" not in said["settings"]


@pytest.mark.slow
def test_mail_is_a_server_that_is_written_to_and_read(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "mail") as said:
        settings = said["settings"]
        assert {"DATABASE_URL", "EMAIL_SMTP_URL", "GATEWAY_SECRET_KEYS"} <= {*settings}
        world, inbox = urlsplit(str(said["world"])), urlsplit(str(settings["EMAIL_IMAP_URL"]))
        with SMTP(str(world.hostname), world.port or 0) as line:
            line.sendmail("ada@cust.example", settings["EMAIL_ADDRESS"], "Subject: Hi\n\nHello.\n")
        with IMAP4(str(inbox.hostname), inbox.port or 0) as box:
            box.login(unquote(inbox.username or ""), inbox.password or "")
            assert box.select() == ("OK", [b"1"])


async def test_the_model_answers(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "model") as said:
        async with connect(said["url"], "any") as api:
            assert (await api.get("/v1/models")).status == 200


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-1-2-real"}, "SLACK_BOT_TOKEN"),
        ({"SLACK_SIGNING_SECRET": "8f742231b10e8888abcd99yyyzzz85a5"}, "SLACK_SIGNING_SECRET"),
    ],
)
def test_slack_doesnt_run_beside_a_real_workspace(
    tmp_path: Path, settings: dict[str, str], name: str
) -> None:
    (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    ran = Shell(tmp_path).run("--json", "fakes", "start", "slack")
    assert ran.code == 3, ran
    assert name in str(ran.error["message"])
    assert name in str(ran.error["fix"])
    assert settings[name] not in ran.out + ran.err


def test_what_belongs_to_slack_isnt_taken_for_the_model(tmp_path: Path) -> None:
    ran = Shell(tmp_path).run("--json", "fakes", "start", "model", "--events", "http://x.example")
    assert ran.code == 2, ran


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with started(shell, "slack") as said:
        port = str(said["url"]).rpartition(":")[2]
        ran = shell.run("--json", "fakes", "start", "slack", "--port", port)
    assert (ran.code, ran.error["code"]) == (1, "port")
    assert ran.error["fix"] == "gateway fakes start slack"
