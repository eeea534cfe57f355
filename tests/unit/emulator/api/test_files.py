"""Files: up in three steps, down with the right token, and a sign-in page for everybody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.emulator.stage import Listener, Play, http


async def test_the_sdk_uploads_into_a_thread(play: Play) -> None:
    root = await play.ada.say(play.support, "root")
    await play.web.files_upload_v2(
        channel=play.support.id,
        thread_ts=root.ts,
        initial_comment="all of it",
        file_uploads=[
            {"filename": "a.md", "content": "# A", "title": "First"},
            {"filename": "b.bin", "content": b"\x00\x01"},
        ],
    )
    (_, shared) = play.slack.thread(play.support, root)
    assert shared.text == "all of it"
    message = play.slack.world.message(play.support.id, shared.ts)
    first, second = [play.slack.world.files[name] for name in message.files]
    assert (first.body, first.title, second.body) == (b"# A", "First", b"\x00\x01")
    assert first.shares == {play.support.id: [shared.ts]}
    info = await play.call("files.info", file=first.id)
    assert info["file"]["shares"]["public"][play.support.id][0]["ts"] == shared.ts


async def test_each_step_wants_the_one_before(play: Play) -> None:
    where: dict[str, Any] = {"channel_id": play.support.id}
    assert (
        await play.refused("files.getUploadURLExternal", filename="a", length=0)
        == "invalid_arguments"
    )
    made = await play.call("files.getUploadURLExternal", filename="a.txt", length=1)
    complete = "files.completeUploadExternal"
    file = [{"id": made["file_id"]}]
    assert await play.refused(complete, **where, files=file) == "file_not_found"
    assert await play.refused("files.info", file=made["file_id"]) == "file_not_found"
    assert await play.refused(complete, **where, files=[]) == "no_file_data"
    async with http() as session:
        async with session.post(made["upload_url"], data=b"x") as answer:
            assert (answer.status, await answer.text()) == (200, "OK - 1")
        async with session.post(made["upload_url"], data=b"x") as answer:
            assert answer.status == 404, "an upload address is good for once"
    await play.call(complete, **where, files=file)
    assert await play.refused(complete, **where, files=file) == "file_not_found"


async def test_a_download_without_the_scope_is_a_page_that_looks_well(play: Play) -> None:
    said = await play.ada.say(play.support, "", files={"log.txt": b"hello"})
    url = (await play.call("files.info", file=said.files[0]))["file"]["url_private"]
    play.acme.install(scopes=["chat:write"])
    async with http() as session:

        async def get(token: str) -> tuple[int, str, bytes]:
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get(url, headers=headers) as answer:
                return answer.status, answer.content_type, await answer.read()

        for token in ("", "xoxb-made-up", play.june.token):
            status, kind, body = await get(token)
            assert (status, kind) == (200, "text/html")
            assert b"Sign in" in body
        play.acme.install(scopes=["files:read"])
        assert await get(play.june.token) == (200, "text/plain", b"hello")


@pytest.mark.parametrize("shared", [False, True])
async def test_in_a_shared_channel_an_event_holds_the_id_only(
    play: Play, app: Listener, shared: bool
) -> None:
    if shared:
        play.acme.invite(play.support, [play.slack.workspace("globex").person("sam")])
    await play.slack.connect(play.app, app.url)
    said = await play.ada.say(play.support, "", files={"log.txt": b"hello"})
    await play.slack.settled()
    (file,) = app.events("message")[0].event["files"]
    assert file.get("file_access") == ("check_file_info" if shared else "visible")
    assert ("url_private" in file) is not shared
    info = await play.call("files.info", file=said.files[0])
    assert info["file"]["url_private"].startswith(play.slack.url)
