"""Which channels a host has, and which are off and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from channels.contract import Route
from channels.protocol import Channel
from gateway.definition import ChannelFactory, DefinitionError, Loaded, Problem
from gateway.engine.errors import DeliverUnsupportedError
from gateway.engine.kinds import JsonObject
from gateway.needs import CHANNEL_NEEDS, NOT_YET
from gateway.values import needed

SHOW_IT = "leave ?deliver=1 out, follow the turn's events and show them"


@dataclass(slots=True, kw_only=True)
class Registry:
    """``channels`` are the mounted ones by their source, ``hooks`` their webhooks by source, path and
    method; ``missing`` says for each that is off which settings would turn it on, ``unmade`` are those
    for which the agent has no file, and ``absent`` those that nothing would turn on: this release
    doesn't have them. ``works``: this process sends what is to be delivered. ``troubles`` says what
    keeps a mounted one, or what carries for all of them, from working right now."""

    channels: Mapping[str, Channel] = field(default_factory=dict[str, Channel])
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    absent: Collection[str] = ()
    unmade: Collection[str] = ()
    works: bool = False
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    hooks: Mapping[tuple[str, str], Mapping[str, Route]] = field(init=False)

    @classmethod
    def of(
        cls,
        made: Collection[str],
        missing: Callable[[str], tuple[str, ...]],
        channels: Mapping[str, Channel] | None = None,
    ) -> Registry:
        """For an agent that has files for ``made``; ``missing`` says which settings a channel still lacks."""
        absent = NOT_YET.difference(made)
        lacking = {name: missing(name) for name in CHANNEL_NEEDS.keys() - absent}
        unmade = lacking.keys() - set(made)
        return cls(channels=channels or {}, missing=lacking, absent=absent, unmade=unmade)

    def __post_init__(self) -> None:
        found: dict[tuple[str, str], dict[str, Route]] = {}
        for source, channel in self.channels.items():
            for route in channel.routes():
                found.setdefault((source, route.path), {})[route.method] = route
        self.hooks = found

    def hook(self, source: str, path: str) -> Mapping[str, Route] | None:
        """The webhooks at a path, by method; ``None`` where there is none."""
        above = f"{path.rpartition('/')[0]}/*"
        return self.hooks.get((source, path)) or self.hooks.get((source, above))

    def off(self, name: str) -> str:
        """What keeps a channel that is off from being on, and what to do about it."""
        if name in self.absent:
            return "not in this release"
        settings = needed(self.missing.get(name, ()))
        steps = [f"gateway add channel {name}"] if name in self.unmade else []
        return ", then ".join([*steps, *([f"set {settings}"] if settings else [])])

    def told(self, name: str) -> JsonObject:
        """How a channel stands, for who asks after the status."""
        on = name in self.channels
        return {
            "name": name,
            "on": on,
            "available": name not in self.absent,
            "missing": [*self.missing.get(name, ())],
            "off": None if on else self.off(name) or None,
            "problem": self.problem(name),
            "standing": [*self.standing(name)],
        }

    @property
    def names(self) -> list[str]:
        """All that there is something to say of."""
        return sorted({*self.channels, *self.missing, *self.absent})

    def problem(self, name: str) -> str | None:
        """What keeps a mounted channel from working right now; it may know more itself, and say so in
        an attribute ``problem``."""
        channel = self.channels.get(name)
        if channel is None:
            return None
        own = cast("str | None", getattr(channel, "problem", None))
        shared = (
            f"the {other} is down: {why}"
            for other, why in self.troubles.items()
            if other not in self.channels
        )
        return self.troubles.get(name) or own or next(shared, None)

    def standing(self, name: str) -> Sequence[JsonObject]:
        """How a mounted channel is set up, where it says so in an attribute ``standing``: rows of ``name``,
        ``told`` and ``at``, which says when that was last so."""
        channel = self.channels.get(name)
        return cast("Sequence[JsonObject]", getattr(channel, "standing", ()))

    def check_delivers(self, source: str | None) -> None:
        """Raises ``DeliverUnsupportedError`` where nothing is delivered, or nothing of this source;
        so early that nothing has been started or answered."""
        settings = "" if source is None else needed(self.missing.get(source, ()))
        fix = f"set {settings}" if settings else SHOW_IT
        if not self.works:
            raise DeliverUnsupportedError(
                "this host has no channel that could deliver; nothing was started or answered",
                fix=fix,
            )
        if source is not None and source not in self.channels:
            raise DeliverUnsupportedError(
                f"no channel {source!r} is mounted here; nothing was started or answered", fix=fix
            )


def build(
    factories: Mapping[str, ChannelFactory],
    env: Mapping[str, str],
    missing: Callable[[str], tuple[str, ...]],
) -> dict[str, Channel]:
    """Make the channels whose settings are complete. Blocks: it runs the author's files. Raises
    ``DefinitionError`` with everything that is wrong with any of them."""
    made: dict[str, Channel] = {}
    problems: list[Problem] = []
    for name, factory in factories.items():
        if missing(name):
            continue
        try:
            made[name] = factory(env)
        except DefinitionError as error:
            problems += error.problems
    if problems:
        raise DefinitionError(tuple(problems))
    return made


def mounted(
    loaded: Loaded, env: Mapping[str, str], missing: Callable[[str], tuple[str, ...]]
) -> dict[str, Channel]:
    """The channels of an agent, whose targets they understand. Blocks. Raises ``DefinitionError``."""
    made = build(loaded.channels, env, missing)
    if wrong := loaded.misaddressed(made):
        raise DefinitionError(wrong)
    return made
