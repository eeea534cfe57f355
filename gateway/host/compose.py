"""The composition root: settings become a store, a sink, a model, an agent, a runtime.

What is heavy (a database driver, the model's SDK) is imported when the settings ask for it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from channels.protocol import Sealer
from gateway.config import Settings
from gateway.definition import SCRIPTED, Loaded, Reply, load_agent
from gateway.engine.errors import ConfigError
from gateway.engine.limits import SYSTEM_CLOCK, SYSTEM_WAITS, Clock, Waits
from gateway.engine.ports import EventSink, Model, SessionStore
from gateway.engine.runtime import Runtime
from gateway.host.api import Api
from gateway.host.channels.context import Context, Surroundings
from gateway.host.channels.equipping import preparers, with_tools
from gateway.host.channels.registry import Registry, mounted
from gateway.host.channels.waking import WakingSink
from gateway.host.channels.ways import Ways
from gateway.host.console.access.access import Access
from gateway.host.metrics import MeteredSink, Metrics
from gateway.release import version
from gateway.schedules.book import Book
from gateway.schedules.runner import Runner
from gateway.sealing import make_sealer
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.values import ApiToken

if TYPE_CHECKING:
    from gateway.host.console.access.oidc import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """All the parts of one process, running. ``ways`` are there where its channels and schedules
    work."""

    settings: Settings
    loaded: Loaded
    runtime: Runtime
    api: Api
    runner: Runner
    ways: Ways | None = None

    async def stop(self, grace: float) -> None:
        """First what is on its way out is put down and the channels' connections go, then the turns."""
        if self.ways is not None:
            await self.ways.stop()
        await self.runtime.stop(grace)


@asynccontextmanager
async def open_host(  # noqa: PLR0913 - what kind of host, each by name
    settings: Settings,
    *,
    tokens: tuple[ApiToken, ...] | None = None,
    offline: bool = False,
    works: bool = False,
    local: bool = False,
    clock: Clock = SYSTEM_CLOCK,
    waits: Waits = SYSTEM_WAITS,
    wrap: Callable[[SessionStore], SessionStore] | None = None,
) -> AsyncGenerator[Host, None]:
    """Everything but the socket: store open, agent loaded, runtime started; all closed at the end.

    ``tokens`` go before those of the settings; ``offline`` takes the scripted model whatever keys
    are set. ``works``: its channels are started and their deliveries sent; else they are known, and
    another process's to serve. ``local``: its pages are for whoever sits at this machine
    (``gateway dev``). Raises ``ConfigError`` for what can't work, before any turn runs.
    """
    loaded, registry = await asyncio.to_thread(_load_with_channels, settings, offline)
    release = await asyncio.to_thread(version)
    metrics = Metrics()
    around = Surroundings(
        registry=registry,
        metrics=metrics,
        waits=waits,
        sealer=_sealer(settings),
        public_url=settings.public_url,
    )
    definition = with_tools(await loaded.start(), registry.channels)
    async with AsyncExitStack() as cleanup:
        store = await _opened_store(settings, cleanup)
        store = store if wrap is None else wrap(store)
        cleanup.push_async_callback(definition.model.close)
        runtime = Runtime(
            {definition.name: definition},
            store,
            WakingSink(MeteredSink(make_sink(settings), metrics)),
            limits=settings.limits,
            clock=clock,
            max_sessions=settings.max_sessions,
            preparers=preparers(registry.channels),
        )
        cleanup.push_async_callback(_stopped, runtime)
        room = Context(runtime, definition.name, registry)
        book = Book(runtime, definition.name, loaded.schedules, room)
        runner = Runner(book, waits)
        ways = Ways(runtime, definition.name, around, runner) if works else None
        await runtime.start()
        if ways is not None:
            cleanup.push_async_callback(ways.stop)
            await ways.start()
        yield Host(
            settings=settings,
            loaded=loaded,
            runtime=runtime,
            api=Api(
                runtime=runtime,
                agent=definition.name,
                tokens=settings.api_tokens if tokens is None else tokens,
                chat_path=settings.chat_path,
                registry=registry,
                schedules=book,
                metrics=metrics,
                access=Access(
                    ledger=store.ledger,
                    clock=clock,
                    sealer=around.sealer,
                    public_url=settings.public_url,
                    proxies=settings.trusted_proxies,
                    local=local,
                    provider=None if local else _provider(settings, clock),
                ),
                version=release,
                started_at=clock.now(),
            ),
            ways=ways,
            runner=runner,
        )


def _load_with_channels(settings: Settings, offline: bool) -> tuple[Loaded, Registry]:
    loaded = load(settings, offline=offline)
    channels = mounted(loaded, settings.environ, settings.missing)
    return loaded, Registry.of(loaded.channels, settings.missing, channels)


def _sealer(settings: Settings) -> Sealer | None:
    keys = [key.value for key in settings.secret_keys]
    return make_sealer(keys) if keys else None


def _provider(settings: Settings, clock: Clock) -> Provider | None:
    """The OpenID provider; the settings are whole or none, as they were checked."""
    issuer, secret = settings.oidc_issuer, settings.oidc_client_secret
    if issuer is None or settings.oidc_client_id is None or secret is None:
        return None
    from gateway.host.console.access.oidc import Provider

    return Provider(
        issuer=issuer,
        client_id=settings.oidc_client_id,
        client_secret=secret.value,
        roles=settings.oidc_roles,
        clock=clock,
        name_claim=settings.oidc_name_claim,
        role_claim=settings.oidc_role_claim,
    )


async def _opened_store(settings: Settings, cleanup: AsyncExitStack) -> SessionStore:
    await asyncio.to_thread(make_room, settings)
    # In a thread: the backend is imported now, and reads its SQL.
    store = await asyncio.to_thread(open_store, settings.database_url)
    await store.open()
    cleanup.push_async_callback(store.close)
    return store


async def _stopped(runtime: Runtime) -> None:
    """For a host that ends by an error: one that drains has stopped its runtime by then."""
    if not runtime.draining:
        await runtime.stop(grace=1.0)


def make_room(settings: Settings, *, make: bool = True) -> None:
    """The state directory, for this user alone, and the folder of the database. Tried now: what
    can't be written later would cost turns an attempt. Without ``make`` it is tried, and nothing is made."""
    try:
        if make:
            settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _try_writing(settings.state)
    except OSError as error:
        raise ConfigError(
            f"can't write to the state directory {settings.state}: {error.strerror or error}",
            fix="point GATEWAY_STATE at a directory that this user may make and write",
        ) from error
    scheme, _, path = settings.database_url.partition(":///")
    if scheme == "sqlite" and path:
        try:
            if make:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            elif not Path(path).parent.is_dir():
                _try_writing(Path(path).parent)
        except OSError as error:
            raise ConfigError(
                f"can't make the folder of the database {path}: {error.strerror or error}",
                fix="point DATABASE_URL at a file in a folder that this user may write",
            ) from error


def _try_writing(folder: Path) -> None:
    """In the folder, or in the one that it would be made in."""
    place = folder.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    with tempfile.TemporaryFile(dir=place):
        pass


def load(settings: Settings, *, offline: bool = False) -> Loaded:
    """The agent directory with the model that the settings name. Blocks: it reads and runs files."""
    loaded = load_agent(
        settings.agent,
        env=settings.environ,
        run_channels=True,
        model=settings.model,
        model_factory=lambda name: _provider_model(settings, name),
        scripted=_scripted_model,
        offline=offline or settings.model == SCRIPTED,
    )
    definition = loaded.definition
    model = _with_access(settings, definition.model)
    return (
        loaded
        if model is definition.model
        else replace(loaded, definition=replace(definition, model=model))
    )


def _with_access(settings: Settings, model: Model) -> Model:
    """A Claude model that the author made, with the host's key and address where he named none."""
    from gateway.models.anthropic import AnthropicModel

    if not isinstance(model, AnthropicModel):
        return model
    key = settings.anthropic_api_key
    ready = model.with_defaults(
        api_key=None if key is None else key.value, base_url=settings.anthropic_base_url
    )
    ready.check()
    return ready


def _scripted_model(reply: Reply) -> Model:
    from gateway.models.scripted import ScriptedModel

    return ScriptedModel(reply)


def _provider_model(settings: Settings, name: str) -> Model:
    key = settings.anthropic_api_key
    if key is None:
        raise ConfigError(
            f"the model {name} needs a key",
            fix="set ANTHROPIC_API_KEY, or GATEWAY_MODEL=scripted to run offline.py instead",
        )
    from gateway.models.anthropic import anthropic

    return anthropic(name)


def make_sink(settings: Settings) -> EventSink:
    if settings.redis_url is not None:
        raise ConfigError(
            "REDIS_URL is set, but this release shares no live events between hosts",
            fix="unset REDIS_URL; readers on another host see durable events all the same",
        )
    return LocalSink()
