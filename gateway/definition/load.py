"""From an agent directory to the agent the engine runs: read all, check all, then build."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from channels.protocol import Channel
from gateway.definition.agentfile import AgentFile
from gateway.definition.author import Agent, Reply, Schedule, Target
from gateway.definition.channels import ChannelFactory, load_channels
from gateway.definition.choice import ModelChoice, ModelFactory, ScriptedFactory
from gateway.definition.layout import check_layout, read_prompts
from gateway.definition.modules import Package
from gateway.definition.parkcheck import check_parks, policies, texts, uses_services
from gateway.definition.problems import DefinitionError, Findings, Problem, did_you_mean, in_order
from gateway.definition.schedules import Placed, load_schedules
from gateway.definition.skills import TOOL as READ_SKILL
from gateway.definition.skills import Skill, catalogue, load_skills, read_skill
from gateway.definition.source import entries, parse
from gateway.definition.tools import check_waits, load_tools
from gateway.engine.agent import AgentDef
from gateway.engine.errors import ConfigError
from gateway.engine.steps.foreign import contained
from gateway.engine.struct import struct
from gateway.engine.tool import Tool

BUILT_IN_SOURCES = frozenset({"api", "chat", "cli", "console", "cron", "timer", "web"})
"""Sources the gateway emits without a channel of the agent's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A target that the author names: what goes there, and where that stands."""

    target: Target
    what: str
    file: str
    line: int | None = None


@struct(frozen=True, slots=True, kw_only=True)
class DirectoryAgent(AgentDef):
    """An agent that was read from a directory, with what it begins by itself: whoever hosts it sees to
    that."""

    schedules: Mapping[str, Schedule] = field(default_factory=dict[str, Schedule])


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An agent directory that holds together.

    ``definition`` is complete but for its services, which ``start`` builds. ``channels`` make those
    of its channels, if it was loaded to run them.
    """

    path: Path
    agent: Agent
    definition: DirectoryAgent
    env: Mapping[str, str]
    skills: tuple[Skill, ...] = ()
    channels: Mapping[str, ChannelFactory] = field(default_factory=dict[str, ChannelFactory])
    addresses: tuple[Address, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        return self.definition.schedules

    def misaddressed(self, channels: Mapping[str, Channel]) -> tuple[Problem, ...]:
        """Addresses that their channel wouldn't understand. A channel that can tell has a method
        ``check_address(address)``, which says what is wrong with one, and how it is written."""
        found: list[Problem] = []
        for one in self.addresses:
            channel = channels.get(one.target.channel)
            check = cast(
                "Callable[[str], tuple[str, str] | None] | None",
                getattr(channel, "check_address", None),
            )
            if check is not None and (wrong := check(one.target.address)) is not None:
                said, fix = wrong
                found.append(
                    Problem(one.file, one.line, f"{one.what} at {one.target}, but {said}", fix)
                )
        return in_order(found)

    async def start(self) -> DirectoryAgent:
        """The agent with its services, built once from the environment. Raises ``ConfigError``."""
        factory = self.agent.services
        if factory is None:
            return self.definition
        try:
            with contained:
                services = factory(self.env)
                if inspect.isawaitable(services):
                    services = await cast("Awaitable[object]", services)
        except ConfigError:
            raise
        except KeyError as error:
            name = error.args[0] if error.args else "?"
            raise ConfigError(
                f"the services of {self.agent.name} need {name}, which isn't set",
                fix=f"set {name} in the environment",
            ) from error
        except Exception as error:
            raise ConfigError(
                f"the services of {self.agent.name} can't be built: {type(error).__name__}: {error}",
                fix="correct the settings they read, or the function in agent.py",
            ) from error
        if services is None:
            raise ConfigError(
                f"the services function of {self.agent.name} returned nothing",
                fix="return the object that tools find in ctx.services",
            )
        return replace(self.definition, services=services)


def _no_directory(path: Path) -> Problem:
    if path.exists():
        fix = f"point GATEWAY_AGENT at the directory that holds agent.py, such as {path.parent}"
        return Problem(str(path), None, "is a file, not a directory", fix)
    fix = "cd into the folder that `gateway new` made, set GATEWAY_AGENT, or: gateway new my-agent"
    return Problem(str(path), None, "there is no such directory", fix)


def load_agent(  # noqa: PLR0913 - what the composition root knows and a directory can't
    path: Path | str,
    *,
    env: Mapping[str, str],
    model: str | None = None,
    model_factory: ModelFactory | None = None,
    scripted: ScriptedFactory | None = None,
    offline: bool = False,
    run_channels: bool = False,
    sources: Collection[str] = BUILT_IN_SOURCES,
) -> Loaded:
    """Read an agent directory. Raises ``DefinitionError`` with everything that is wrong with it.

    ``run_channels`` runs the files in ``channels/``, too. ``model`` goes before the agent's own.
    ``offline``, or the model ``scripted``, takes the model that ``scripted`` makes of ``offline.py``;
    otherwise ``model_factory`` makes one of the name. Where a factory is missing the agent gets a
    model that refuses to be called, which is enough to check a directory. ``sources`` are those that
    exist without a file in ``channels/``.
    """
    root = Path(path)
    if not root.is_dir():
        raise DefinitionError((_no_directory(root),))
    package = Package.create(root.resolve(), str(path).rstrip("/") or "/")
    findings = Findings()
    try:
        parts = _read(package, findings, sources, run_channels=run_channels)
        choice = ModelChoice(model, model_factory, scripted, offline=offline)
        definition = _assemble(parts, choice, package, findings)
        _warn_idle_policies(parts, sources)
        _warn_idle_overlays(parts, sources, package, findings)
        if findings.errors or definition is None or parts.file.agent is None:
            raise DefinitionError(in_order(findings.errors), in_order(findings.warnings))
    except BaseException:
        package.discard()
        raise
    return Loaded(
        path=package.root,
        agent=parts.file.agent,
        definition=definition,
        env=env,
        skills=parts.skills,
        channels=parts.channels,
        addresses=_addresses(parts, parts.file.agent),
        warnings=in_order(findings.warnings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    file: AgentFile
    prompt: str
    overlays: dict[str, str]
    tools: dict[str, Tool]
    skills: tuple[Skill, ...]
    schedules: dict[str, Placed]
    channel_names: tuple[str, ...]
    channels: dict[str, ChannelFactory]


def _read(
    package: Package, findings: Findings, sources: Collection[str], *, run_channels: bool
) -> _Parts:
    check_layout(package, findings)
    prompt, overlays = read_prompts(package, findings)
    skills = load_skills(package.root / "skills", f"{package.shown}/skills", findings)
    tools = load_tools(package, findings)
    if skills:
        tools[READ_SKILL] = read_skill(skills)
    named, channels = load_channels(package, findings, run=run_channels)
    # An application may mount channels of its own, which it names among the sources.
    mounted = {*named, *sources} - BUILT_IN_SOURCES
    parts = _Parts(
        file=AgentFile(package, findings),
        prompt=prompt,
        overlays=overlays,
        tools=tools,
        skills=skills,
        schedules=load_schedules(package, mounted, findings),
        channel_names=named,
        channels=channels,
    )
    parts.file.check(_tool_names(package, tools), overlays)
    parts.file.check_routes(mounted, *_read_code(package, parts.file, findings))
    return parts


def _tool_names(package: Package, tools: Mapping[str, Tool]) -> set[str]:
    """Also names of tools that failed to load: one mistake should not look like two."""
    files = {path.stem for path in entries(package.root / "tools") if path.suffix == ".py"}
    return files | set(tools)


def _read_code(package: Package, file: AgentFile, findings: Findings) -> tuple[set[str], set[str]]:
    """What the text of the author's code tells without running it. Returns the policies that tools
    name, and every text beside ``agent.py`` that may reach one by way of a constant."""
    asked: set[str] = set()
    spelled: set[str] = set()
    for path in sorted(package.root.rglob("*.py")):
        inside = path.relative_to(package.root).parts
        if any(part.startswith(".") for part in inside) or inside[0] in (
            "subagents",
            "connections",
        ):
            continue
        tree = parse(path)
        if tree is None:
            continue
        place = package.show(path)
        check_parks(tree, place, findings)
        check_waits(tree, place, findings)
        if inside[0] not in ("agent.py", "channels", "schedules"):
            asked |= {policy for policy, _ in policies(tree)}
            spelled |= texts(tree)
        if file.agent is None or inside[0] != "tools":
            continue
        if file.agent.authorize_answer is None:
            for policy, line in policies(tree):
                findings.warn(
                    place,
                    line,
                    f"asks the policy {policy!r}, but nobody can ever answer it",
                    "give Agent an authorize_answer that decides who may",
                )
        used = uses_services(tree)
        if used is not None and file.agent.services is None:
            findings.error(
                place,
                used,
                "uses ctx.services, but the agent has none",
                "give Agent services=, a function of the environment",
            )
    return asked, spelled


def _warn_idle_policies(parts: _Parts, sources: Collection[str]) -> None:
    agent = parts.file.agent
    if agent is None or not isinstance(cast("object", agent.surfaces), Mapping):
        return
    known = {*sources, *parts.channel_names}
    for source in agent.surfaces:
        if source not in known:
            parts.file.warn(
                "surfaces",
                f"has a policy for {source!r}, but no mounted channel emits that source",
                f"add channels/{source}.py, or remove the policy",
                text=source,
            )
    for named in agent.approvals:
        source = named.rpartition(":")[0]
        if source and source not in known:
            parts.file.warn(
                "approvals",
                f"says where {named!r} is shown, but no mounted channel emits the source {source!r}",
                f"add channels/{source}.py, or name the policy alone",
                text=named,
            )


def _warn_idle_overlays(
    parts: _Parts, sources: Collection[str], package: Package, findings: Findings
) -> None:
    known = {*sources, *parts.channel_names}
    for source in parts.overlays.keys() - known:
        findings.warn(
            package.show(package.root / f"instructions.{source}.md"),
            None,
            f"is for no turn: nothing here emits the source {source!r}{did_you_mean(source, known)}",
            f"rename it, or add channels/{source}.py",
        )


def _addresses(parts: _Parts, agent: Agent) -> tuple[Address, ...]:
    file = parts.file
    routed = (
        Address(
            target=Target.parse(where),
            what=f"shows {policy}",
            file=file.place,
            line=file.line_of("approvals", where),
        )
        for policy, where in agent.approvals.items()
    )
    scheduled = (
        Address(target=one.schedule.target, what="speaks", file=one.file, line=one.line)
        for one in parts.schedules.values()
        if isinstance(one.schedule.target, Target)
    )
    return (*routed, *scheduled)


# -- assembly --------------------------------------------------------------------------------------
def _assemble(
    parts: _Parts, choice: ModelChoice, package: Package, findings: Findings
) -> DirectoryAgent | None:
    agent = parts.file.agent
    reply = _offline_reply(package, findings)
    if agent is None or findings.errors:
        return None
    model = choice.make(agent, reply, parts.file)
    if model is None:
        return None
    skills = catalogue(parts.skills)
    overlays = {
        # An overlay that stands in for the base prompt has to say which skills there are.
        source: _join(text, skills) if _replaces(agent, source) else text
        for source, text in parts.overlays.items()
    }
    return DirectoryAgent(
        name=agent.name,
        model=model,
        instructions=_join(parts.prompt, skills),
        tools={**parts.tools, **_unasked(parts)},
        overlays=overlays,
        surfaces=dict(agent.surfaces),
        approvals=dict(agent.approvals),
        authorize_answer=agent.authorize_answer,
        on_turn_error=agent.on_turn_error,
        schedules={name: placed.schedule for name, placed in parts.schedules.items()},
    )


def _unasked(parts: _Parts) -> dict[str, Tool]:
    """What an agent that speaks first is given for that."""
    if not parts.schedules:
        return {}
    from gateway.schedules.tool import TOOL  # its schema is made here, of what is slow to import

    return {TOOL.name: TOOL}


def _join(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def _replaces(agent: Agent, source: str) -> bool:
    surface = agent.surfaces.get(source)
    return surface is not None and surface.mode == "replace"


def _offline_reply(package: Package, findings: Findings) -> Reply | None:
    path = package.root / "offline.py"
    if not path.is_file():
        return None
    module = package.run(path.name, findings)
    if module is None:
        return None
    reply = cast("object", getattr(module, "reply", None))
    if not callable(reply):
        findings.error(
            package.show(path), None, "defines no reply", "write def reply(request): return …"
        )
        return None
    return cast("Reply", reply)
