"""The Claude models behind the ``Model`` seam, and the only module that imports the vendor's SDK.

What the SDK does and is kept from doing (anthropic 2.14, read in its source):

- it retries by itself, unseen by any audit row, and sleeps for whatever ``retry-after`` says:
  ``max_retries=0``, retries are the engine's;
- it takes credentials from the environment and from profiles on disk: the key is always passed;
- it emits spans of its own: off, there is one telemetry layer;
- it swallows pings, parses a tool's arguments again with every delta, and reports neither a stream
  that just stops nor a broken frame as an error of its own: so the bytes are read here, and
  ``_sse`` and ``_accumulate`` make them into a reply.

The request goes through ``client.post``, the SDK's documented way to any endpoint, because
``messages.create`` warns about retiring models at every call, which ``-W error`` turns into a
failed turn. The warning is written to the log once, at construction.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from typing_extensions import override

from gateway.engine.errors import ConfigError, GatewayError, ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import Alive, Meter, ModelDelta, ModelReply, ModelRequest, Usage
from gateway.engine.ports import MODEL_SEAM_VERSION, Model
from gateway.engine.struct import replace, struct
from gateway.models._accumulate import Accumulator, Message, StreamBroken, StreamError
from gateway.models._failures import (
    Failure,
    Scrub,
    from_exception,
    from_failure,
    scrubber,
)
from gateway.models._judge import judge
from gateway.models._sse import Decoder, FrameTooLarge
from gateway.models._wire import WIRE, build, own_names
from gateway.models.capabilities import Effort, capabilities, settings_for, warning_for
from gateway.models.pricing import load as load_prices
from gateway.models.pricing import price

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream, Timeout

_log = logging.getLogger("gateway.models")

PROVIDER = "anthropic"
BASE_URL = "https://api.anthropic.com"
_PATH = "/v1/messages?beta=true"
_STREAM: bool = True

_SILENCE = 120.0
"""Seconds without a byte after which the connection is given up; pings count as bytes."""
_CONNECT = 10.0
_DRAIN = 0.2
"""How long to wait for the end of the body after the last event, so the connection can be reused."""
_ALIVE_EVERY = 1.0
_MAX_REPLY = 8 * 1024 * 1024
_CHARACTERS_PER_TOKEN = 4
"""Of English prose, about; for what a cut stream wrote, which nobody counted."""
_MOST_TOKENS = 10**12
"""Beyond it a number counts something else."""

_FIX_SDK = 'pip install "anthropic>=2.14,<3", or inject a client: anthropic(model, client=…)'
_FIX_KEY = "set ANTHROPIC_API_KEY, pass api_key=, or inject a client: anthropic(model, client=…)"


def anthropic(  # noqa: PLR0913 - what an author may choose about a model, all of it optional
    model: str,
    client: AsyncAnthropic | None = None,
    *,
    thinking: bool = True,
    max_tokens: int | None = None,
    effort: Effort | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
) -> AnthropicModel:
    """A Claude model for an agent.

    ``client`` is an ``AsyncAnthropic`` (or a platform's) with its own credentials; without one the
    adapter makes its own from ``api_key`` and ``base_url``. What the model can't do is a
    ``ConfigError`` here, not a 400 on every turn.
    """
    settings: JsonObject = {
        "provider": PROVIDER,
        "wire": WIRE,
        **settings_for(model, thinking=thinking, max_tokens=max_tokens, effort=effort),
    }
    if capabilities(model).known:
        settings["eager_input_streaming"] = True
    if (warning := warning_for(model)) is not None:
        _log.warning(warning)
    return AnthropicModel(model, settings, Access(client, api_key, base_url))


@struct(frozen=True, slots=True)
class Access:
    """How the API is reached. ``silence`` in seconds: how long without a byte is too long."""

    client: AsyncAnthropic | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    silence: float = _SILENCE


class AnthropicModel(Model):
    """One Claude model. Make it with ``anthropic()``; its parts are fixed for its life."""

    seam_version = MODEL_SEAM_VERSION

    def __init__(self, model: str, settings: JsonObject, access: Access) -> None:
        self._model = model
        self._settings = settings
        self._access = access
        self._scrub: Scrub = scrubber(access.api_key)
        self._gate = asyncio.Lock()
        self._client: AsyncAnthropic | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    @override
    def name(self) -> str:
        return self._model

    @property
    @override
    def settings(self) -> JsonObject:
        return dict(self._settings)

    def with_defaults(self, *, api_key: str | None, base_url: str | None) -> AnthropicModel:
        """The same model, with what its author left open filled in: the host's settings.

        The adapter itself reads no environment, so that one module does.
        """
        own = self._access
        if own.client is not None:
            return self
        access = replace(
            own, api_key=own.api_key or api_key, base_url=own.base_url or base_url or None
        )
        return AnthropicModel(self._model, self._settings, access)

    def check(self) -> None:
        """Raise ``ConfigError`` now for what would fail the first turn: no key, no SDK.

        Loads the SDK (a second or two), so call it before the event loop runs or in a thread.
        """
        if self._access.client is not None:
            return
        self._require_key()
        _sdk()

    @override
    async def close(self) -> None:
        """Close the adapter's own connections; an injected client stays its owner's to close."""
        client, self._client = self._client, None
        if client is not None and self._access.client is None:
            await client.close()

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        settings, model = self._pinned(request)
        body = build(request, settings, model)
        names = own_names(request.edition)
        call = _Call(model, Accumulator(names, limit=_MAX_REPLY, clock=time.monotonic))
        try:
            client = await self._connected()
            async with (
                self._response(client, body) as chunks,
                aclosing(call.deltas(chunks)) as deltas,
            ):
                async for delta in deltas:
                    yield delta
            yield call.reply()
        except Exception as error:
            failure = self._told(error)
            if isinstance(failure, ModelError):
                failure.usage = call.spent()
            if failure is error:
                raise
            # A status error carries the request, key included, and all it says is said already.
            said = isinstance(error, StreamError) or hasattr(error, "status_code")
            raise failure from (None if said else error)

    def _told(self, error: Exception) -> GatewayError:
        """The failure in our words: no error of a vendor's leaves here."""
        if isinstance(error, GatewayError):
            return error
        if isinstance(error, StreamError):
            told = Failure(status=200, type=error.type, code=error.code, message=str(error))
            return from_failure(told, self._scrub)
        if isinstance(error, StreamBroken | FrameTooLarge):
            return ModelUnavailableError(f"the model's stream is broken: {error}")
        return from_exception(error, self._scrub)

    def _pinned(self, request: ModelRequest) -> tuple[JsonObject, str]:
        """Settings and model as the edition fixed them: a suspended turn resumes on its own, even
        when today's agent has others. An edition of another adapter has none of ours."""
        edition = request.edition
        if edition.settings.get("provider") != PROVIDER:
            return self._settings, self._model
        return edition.settings, edition.model

    # -- the client --------------------------------------------------------------------------------
    def _require_key(self) -> str:
        if not (key := (self._access.api_key or "").strip()):
            raise ConfigError("no key for the Anthropic API", fix=_FIX_KEY)
        return key

    async def _connected(self) -> AsyncAnthropic:
        """The client, made on first use in a thread: loading the SDK takes a second or two.

        A pool of connections belongs to one event loop, so another loop gets another client.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._gate, self._client = loop, asyncio.Lock(), None
        async with self._gate:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)
            return self._client

    def _make(self) -> AsyncAnthropic:
        load_prices()
        own = self._access
        if own.client is not None:
            return own.client.with_options(max_retries=0, timeout=own.silence, open_telemetry=False)
        key = self._require_key()
        client, timeout = _sdk()
        return client(
            api_key=key,
            base_url=own.base_url or BASE_URL,
            max_retries=0,
            timeout=timeout(own.silence, connect=min(_CONNECT, own.silence)),
            open_telemetry=False,
        )

    @asynccontextmanager
    async def _response(
        self, client: AsyncAnthropic, body: JsonObject
    ) -> AsyncGenerator[AsyncGenerator[bytes]]:
        """The response's bytes as they come. Leaving it closes the socket, whatever the reason."""
        stream = cast(
            "AsyncStream[object]",
            await client.post(_PATH, cast_to=object, body=body, stream=_STREAM),
        )
        response = stream.response
        try:
            kind = response.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                raise ModelError(
                    f"the model's API answered with {kind or 'no content type'!r}, not a stream",
                    fix="check ANTHROPIC_BASE_URL (or base_url=): is an Anthropic API there?",
                )
            async with aclosing(response.aiter_bytes()) as chunks:
                yield chunks
        finally:
            # A broken connection may complain once more when it is closed.
            with suppress(Exception):
                await stream.close()


@dataclass(slots=True)
class _Call:
    """One call under way: bytes in, deltas out, and at the end the reply."""

    model: str
    accumulator: Accumulator

    async def deltas(self, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[ModelDelta]:
        """What to show. Bytes with nothing to show (pings, signatures) are told as ``Alive``."""
        decoder = Decoder(_MAX_REPLY)
        yield Meter(self.spent)
        yield Alive()
        told = time.monotonic()
        async for chunk in chunks:
            for frame in decoder.feed(chunk):
                for delta in self.accumulator.feed(frame.event, frame.data):
                    told = time.monotonic()
                    yield delta
            if self.accumulator.done:
                await self._drain(chunks)
                return
            if time.monotonic() - told >= _ALIVE_EVERY:
                told = time.monotonic()
                yield Alive()

    async def _drain(self, chunks: AsyncGenerator[bytes]) -> None:
        """Read to the end of the body, so that the connection goes back to the pool. The reply is
        whole by now: whatever happens here doesn't matter to it."""
        with suppress(Exception):
            async with asyncio.timeout(_DRAIN):
                async for _ in chunks:
                    pass

    def reply(self) -> ModelReply:
        if not self.accumulator.done:
            raise ModelUnavailableError("the model's stream ended before the message did")
        return judge(self.accumulator.message(), self._usage)

    def spent(self) -> Usage | None:
        """What the call costs if it ends here. Output is only told at the end, so of a message that
        is cut before it is what arrived that counts."""
        if not self.accumulator.started:
            return None
        message = self.accumulator.message()
        if self.accumulator.done:
            return self._usage(message)
        told = _count(message.usage, "output_tokens")
        arrived = -(-self.accumulator.written // _CHARACTERS_PER_TOKEN)
        output = told if message.stop is not None else max(told, arrived)
        priced = self._usage(replace(message, usage={**message.usage, "output_tokens": output}))
        return replace(priced, raw=dict(message.usage), estimated=True)

    def _usage(self, message: Message) -> Usage:
        raw = message.usage
        bill = price(raw, message.model, self.model)
        return Usage(
            model=message.model or self.model,
            input=_count(raw, "input_tokens"),
            output=_count(raw, "output_tokens"),
            cache_read=_count(raw, "cache_read_input_tokens"),
            cache_write=_count(raw, "cache_creation_input_tokens"),
            cost=bill.cost,
            prices=bill.prices,
            raw=raw,
        )


def _count(usage: JsonObject, key: str) -> int:
    """A number of tokens; what isn't one counts nothing, and is kept as it came beside the sums."""
    value = usage.get(key)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else 0


def _sdk() -> tuple[type[AsyncAnthropic], type[Timeout]]:
    try:
        from anthropic import AsyncAnthropic, Timeout
    except Exception as error:
        raise ConfigError(f"the Anthropic SDK can't be loaded: {error}", fix=_FIX_SDK) from error
    return AsyncAnthropic, Timeout
