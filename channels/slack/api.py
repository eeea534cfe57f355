"""Slack's Web API: one request per call, one of four outcomes, nothing raised.

Wire (docs.slack.dev, "Using the Slack Web API", "Rate limits"): every method takes a form by ``POST``, in
which lists and objects are JSON; an answer is JSON with ``ok``, mostly with 200. 429 comes with
``Retry-After`` in seconds, and nothing was done then. The SDK's client carries it, with its retries off: by
itself it sends a post a second time when the line broke under the first. How it tells of trouble is read in
slack_sdk ``web/async_internal_utils.py``: an answer that isn't JSON keeps its status and loses its body, and
a plain text or cut JSON with 200 comes as an error of another kind than a refusal.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, cast
from urllib.parse import urljoin, urlsplit

import aiohttp

from channels.slack.calls import CALL_SECONDS, Ambiguous, NotNow, Ok, Outcome, Refused
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.limits import Waits
from gateway.engine.struct import struct

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from channels.slack.installs.renames import Renames

__all__ = [
    "QUIET",
    "Fetched",
    "Replied",
    "Silent",
    "SlackWeb",
    "Tokens",
    "classify",
    "silent",
    "trusted",
]

QUIET = logging.getLogger("gateway.slack.sdk")
"""For the SDK, which would log texts and addresses that hold a ticket; what matters is logged here."""
QUIET.setLevel(logging.CRITICAL + 1)

SAFE_TWICE = frozenset(
    {
        "agents.sessions.rename",
        "agents.sessions.setStatus",
        "apps.connections.open",
        "assistant.threads.setStatus",
        "assistant.threads.setSuggestedPrompts",
        "assistant.threads.setTitle",
        "auth.teams.list",
        "auth.test",
        "bots.info",
        "chat.delete",
        "chat.update",
        "conversations.history",
        "conversations.info",
        "conversations.list",
        "conversations.members",
        "conversations.open",
        "conversations.replies",
        "files.getUploadURLExternal",
        "files.info",
        "team.info",
        "users.info",
        "users.list",
        "views.update",
    }
)
"""Methods that do the same when they are called again."""
IN_TURN = "chat.update"
"""It does, but not after another: while one may still be carried out, the next would be undone by it."""

LIMITED = frozenset({"ratelimited", "rate_limited"})
HALF_DONE = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""Refusals of which Slack says that some of it may have been done."""
MOVING = frozenset({"org_login_required", "team_added_to_org"})
"""The workspace is being moved into an organisation; it comes back by itself."""

AGAIN = 1.0
UNSAID = 30.0
"""When Slack doesn't say how long to wait. Seconds, as the one above."""
CONNECT_SECONDS = 8.0
LEAVING = 4.0
"""Seconds that calls under way have to end."""
MOST_REDIRECTS = 3


class Tokens(Protocol):
    """Who sends with what. Both raise ``StoreUnavailableError``."""

    async def token(self, installation: str) -> str | None:
        """The token to use now, ``None`` where the app isn't installed (any more)."""
        ...

    async def renewed(self, installation: str, stale: str) -> str | None:
        """Another one than ``stale``, which Slack calls expired; ``None`` if there is none to get."""
        ...


# -- what comes back ---------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Replied:
    """An answer arrived. ``data`` is ``None`` where its body was no JSON object."""

    status: int
    data: JsonObject | None
    retry_after: str | None = None


@struct(frozen=True, slots=True)
class Silent:
    """No answer arrived. ``sent`` unless it is certain that the request never left."""

    sent: bool
    why: str


@struct(frozen=True, slots=True)
class Fetched:
    """A file as it was handed out. Slack hands out a sign-in page, with 200, where a permission is
    missing."""

    status: int
    media_type: str
    body: bytes


def classify(method: str, got: Replied | Silent) -> Outcome:
    """What became of a call. Pure."""
    found = _outcome(got)
    under_way = isinstance(got, Silent) and method == IN_TURN
    if isinstance(found, Ambiguous) and method in SAFE_TWICE and not under_way:
        return NotNow(AGAIN, found.why)
    return found


def _outcome(got: Replied | Silent) -> Outcome:
    if isinstance(got, Silent):
        return Ambiguous(got.why) if got.sent else NotNow(AGAIN, got.why)
    data = got.data or {}
    code = data.get("error")
    if got.status == 429 or code in LIMITED:
        return NotNow(_seconds(got.retry_after), "Slack limits the rate of this call")
    if data.get("ok") is True and got.status == 200:
        return Ok(data)
    if not isinstance(code, str) or not code or got.status >= 500:
        return _without_word(got.status)
    if code in HALF_DONE:
        return Ambiguous(f"Slack answered {code}")
    if code in MOVING:
        return NotNow(UNSAID, "the workspace is being moved into an organisation")
    return Refused(code, data)


def _without_word(status: int) -> Outcome:
    """Neither a yes nor an error's name. Below 400 and above 499 it may have been done."""
    if 400 <= status < 500 and status != 408:
        return Refused(f"http_{status}", {})
    return Ambiguous(f"Slack answered {status} without a result")


def _seconds(retry_after: str | None) -> float:
    given = (retry_after or "").strip()
    return float(given) if given.isascii() and given.isdigit() and len(given) < 7 else UNSAID


def silent(error: Exception) -> Silent:
    """Its class says what happened; its text may hold an address with a secret."""
    unsent = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
    return Silent(not isinstance(error, unsent), f"no answer: {type(error).__name__}")


def trusted(url: str, api_url: str) -> bool:
    """Whether a token may be sent there: to the host of the API or one below it, by the same scheme
    and port."""
    try:
        there, home = urlsplit(url), urlsplit(api_url)
        ours, theirs = home.hostname or "", there.hostname or ""
        same = (there.scheme, there.port) == (home.scheme, home.port)
    except ValueError:
        return False
    if not ours or there.username is not None or "\\" in url:
        return False
    return same and (theirs == ours or theirs.endswith(f".{ours}"))


# -- the client --------------------------------------------------------------------------------------
class _Line:
    """An open client, which isn't cut off under a call."""

    def __init__(self, session: aiohttp.ClientSession, client: AsyncWebClient) -> None:
        self.session = session
        self.client = client
        self.idle = asyncio.Event()
        self.idle.set()
        self._calls = 0

    def __enter__(self) -> Self:
        self._calls += 1
        self.idle.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._calls -= 1
        if not self._calls:
            self.idle.set()


class SlackWeb:
    """``SlackApi`` over the network."""

    def __init__(self, tokens: Tokens, api_url: str, *, waits: Waits) -> None:
        self.renames: Renames | None = None
        self._tokens = tokens
        self._api_url = api_url
        self._waits = waits
        self._line: _Line | None = None

    async def open(self) -> None:
        """Nothing is sent. Loading the SDK takes most of a second, so a thread does it."""
        if self._line is not None:
            return
        client = await asyncio.to_thread(_client, self._api_url)
        session = aiohttp.ClientSession(
            # Waiting for a free connection would look like a call without an answer.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )
        client.session = session
        self._line = _Line(session, client)

    async def close(self) -> None:
        """From now on nothing is sent. Calls under way get a moment: one that is cut off leaves open
        whether it was carried out."""
        line, self._line = self._line, None
        if line is None:
            return
        with suppress(TimeoutError):
            async with self._waits.timeout(LEAVING):
                await line.idle.wait()
        await line.session.close()

    # -- calls -----------------------------------------------------------------------------------------
    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        token = await self._token(installation)
        if not isinstance(token, str):
            return token
        names = self.renames
        sent = args if names is None else names.today(installation, args)
        found = await self.call_with(token, method, sent)
        if isinstance(found, Refused) and found.code == "token_expired":
            return await self._renew(installation, token) or found
        return found if names is None else await names.again(installation, args, found)

    async def call_with(self, token: str, method: str, args: JsonObject) -> Outcome:
        """The same with a token that belongs to no installation, or not yet."""
        line = self._line
        if line is None:
            return _CLOSED
        with line:
            return classify(method, await self._send(line.client, token, method, args))

    async def _send(
        self, client: AsyncWebClient, token: str, method: str, args: JsonObject
    ) -> Replied | Silent:
        from slack_sdk.errors import SlackApiError

        sdk: Any = client
        try:
            async with self._waits.timeout(CALL_SECONDS):
                answer = await sdk.api_call(
                    method, data=_form(args), headers={"Authorization": f"Bearer {token}"}
                )
        except SlackApiError as error:
            return _replied(error.response)
        except (OSError, aiohttp.ClientError, ValueError, AttributeError) as error:
            # The last two: 200 with a body that isn't what the SDK takes for granted.
            return silent(error)
        return _replied(answer)

    async def _token(self, installation: str) -> str | NotNow | Refused:
        try:
            token = await self._tokens.token(installation)
        except StoreUnavailableError:
            return _NO_STORE
        return token or Refused("no_installation", {})

    async def _renew(self, installation: str, stale: str) -> NotNow | None:
        """Nothing was done under the old token; whoever called may call again at once."""
        try:
            token = await self._tokens.renewed(installation, stale)
        except StoreUnavailableError:
            return _NO_STORE
        if not token or token == stale:
            return None
        return NotNow(0.0, "the token had expired and was renewed")

    # -- files -----------------------------------------------------------------------------------------
    async def upload(self, url: str, body: bytes) -> Outcome:
        """Put a file's bytes where Slack said. An address is good for once."""
        line = self._line
        if line is None:
            return _CLOSED
        try:
            with line:
                async with (
                    self._waits.timeout(CALL_SECONDS),
                    line.session.post(url, data=body, allow_redirects=False) as answer,
                ):
                    await answer.read()
        except (OSError, aiohttp.ClientError, ValueError) as error:
            return _outcome(silent(error))
        if 200 <= answer.status < 300:
            return Ok({})
        return _outcome(Replied(answer.status, None, answer.headers.get("Retry-After")))

    async def fetch(self, installation: str, url: str, limit: int) -> Fetched | NotNow | Refused:
        """Download a file of Slack's, with the installation's token. Refused with
        ``foreign_address`` where that would give the token to somebody else, with ``too_large``
        above ``limit`` bytes."""
        line, token = self._line, await self._token(installation)
        if line is None:
            return _CLOSED
        if not isinstance(token, str):
            return token
        try:
            with line:
                async with self._waits.timeout(CALL_SECONDS):
                    return await self._download(line.session, token, url, limit)
        except (OSError, aiohttp.ClientError, ValueError) as error:
            return NotNow(AGAIN, silent(error).why)

    async def _download(
        self, session: aiohttp.ClientSession, token: str, url: str, limit: int
    ) -> Fetched | NotNow | Refused:
        for _ in range(MOST_REDIRECTS + 1):
            if not trusted(url, self._api_url):
                return Refused("foreign_address", {})
            async with session.get(
                url, headers={"Authorization": f"Bearer {token}"}, allow_redirects=False
            ) as answer:
                where = answer.headers.get("Location", "")
                if not (where and 300 <= answer.status < 400):
                    return await _taken(answer, limit)
            url = urljoin(url, where)
        return Refused("too_many_redirects", {})


_CLOSED = NotNow(AGAIN, "the channel isn't running")
_NO_STORE = NotNow(AGAIN, "the token can't be read from the store now")


def _client(api_url: str) -> AsyncWebClient:
    from slack_sdk.web.async_client import AsyncWebClient

    client = AsyncWebClient(base_url=api_url, retry_handlers=[], logger=QUIET)
    client.proxy = None  # it would take one from the environment, and ignore the exceptions there
    return client


def _form(args: JsonObject) -> dict[str, str]:
    return {name: _field(value) for name, value in args.items() if value is not None}


def _field(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _replied(answer: Any) -> Replied:  # noqa: ANN401 - the SDK's answer, or under it aiohttp's
    ours = hasattr(answer, "status_code")
    status = cast("int", answer.status_code if ours else answer.status)
    data = cast("object", answer.data if ours else None)
    headers = cast("Mapping[str, str]", answer.headers)
    return Replied(
        status,
        cast("JsonObject", data) if isinstance(data, dict) else None,
        headers.get("Retry-After"),
    )


async def _taken(answer: aiohttp.ClientResponse, limit: int) -> Fetched | NotNow | Refused:
    if answer.status == 429 or answer.status >= 500:
        wait = answer.headers.get("Retry-After")
        return NotNow(_seconds(wait) if wait else AGAIN, f"Slack answered {answer.status}")
    body = bytearray()
    async for piece in answer.content.iter_chunked(1 << 16):
        body += piece
        if len(body) > limit:
            return Refused("too_large", {})
    return Fetched(answer.status, answer.content_type, bytes(body))
