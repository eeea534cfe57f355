"""``agent.py``: the author's record, checked field by field before anything starts."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import cast

from gateway.definition.author import Agent, Target
from gateway.definition.modules import Package
from gateway.definition.problems import Findings, did_you_mean
from gateway.definition.source import assignment_line, call_of, keyword_of, parse, text_line
from gateway.engine.agent import Surface

FILE = "agent.py"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_HOOK_ARGUMENTS = ("policy", "scope", "by", "principal", "request", "speaker", "services")


class AgentFile:
    """``agent.py`` as it was run, and as it is written: the one for values, the other for lines."""

    def __init__(self, package: Package, findings: Findings) -> None:
        self.place = f"{package.shown}/{FILE}"
        self._findings = findings
        path = package.root / FILE
        self.tree = parse(path) if path.is_file() else None
        self.line = assignment_line(self.tree, "agent")
        self._call = call_of(self.tree, "agent")
        self.agent = self._run(package) if path.is_file() else None
        if not path.is_file():
            findings.error(
                package.shown,
                None,
                f"has no {FILE}",
                f'write {FILE} with agent = Agent(name="…", model="…")',
            )

    def _run(self, package: Package) -> Agent | None:
        module = package.run(FILE, self._findings)
        if module is None:
            return None
        agent = cast("object", getattr(module, "agent", None))
        if isinstance(agent, Agent):
            return agent
        said = "defines no agent" if agent is None else f"makes agent a {type(agent).__name__}"
        self._findings.error(
            self.place, self.line, said, 'write agent = Agent(name="…", model="…")'
        )
        return None

    def node(self, name: str) -> ast.expr | None:
        return keyword_of(self._call, name)

    def line_of(self, name: str, text: str = "") -> int | None:
        """Where a field stands, or a text inside it."""
        node = self.node(name)
        found = text_line(node, text) if text else None
        return found or (node.lineno if node else self.line)

    def refuse(self, field: str, message: str, fix: str, *, text: str = "") -> None:
        self._findings.error(self.place, self.line_of(field, text), message, fix)

    def warn(self, field: str, message: str, fix: str, *, text: str = "") -> None:
        self._findings.warn(self.place, self.line_of(field, text), message, fix)

    # -- checks ------------------------------------------------------------------------------------
    def check(self, tools: Collection[str], overlays: Mapping[str, str]) -> None:
        """Everything in the record that can be told without starting anything."""
        if self.agent is None:
            return
        self._check_identity(self.agent)
        self._check_hooks(self.agent)
        self._check_approvals(self.agent)
        if not isinstance(cast("object", self.agent.surfaces), Mapping):
            self.refuse(
                "surfaces", "has surfaces that aren't a mapping", 'write {"slack": Surface(…)}'
            )
            return
        for source, surface in self.agent.surfaces.items():
            self._check_surface(source, surface, tools, overlays)

    def _check_identity(self, agent: Agent) -> None:
        if not isinstance(cast("object", agent.name), str) or not _NAME.fullmatch(agent.name):
            self.refuse(
                "name",
                f"has the name {agent.name!r}, which can't stand in an address",
                "use up to 64 of a-z, 0-9, - and _, beginning with a letter",
            )
        model = cast("object", agent.model)
        if isinstance(model, str):
            if not model.strip():
                self.refuse("model", "names no model", 'name one: model="claude-…"')
        elif not callable(getattr(model, "stream", None)):
            self.refuse(
                "model",
                f"has a {type(model).__name__} as its model",
                "give a model's name, or an object with the model seam's stream()",
            )

    def _check_hooks(self, agent: Agent) -> None:
        hook = cast("object", agent.authorize_answer)
        if hook is not None:
            self._check_authorize(hook)
        for name, argument in (("services", "env"), ("on_turn_error", "error")):
            value = cast("object", getattr(agent, name))
            if value is not None and not (callable(value) and _accepts_one(value)):
                self.refuse(
                    name,
                    f"has a {name} that isn't a function of one argument",
                    f"write def {name}({argument}): …",
                )

    def _check_authorize(self, hook: object) -> None:
        fix = f"write async def authorize_answer(*, {', '.join(_HOOK_ARGUMENTS)}) -> bool"
        if not callable(hook) or not _is_async(hook):
            self.refuse("authorize_answer", "has an authorize_answer that isn't async", fix)
            return
        try:
            inspect.signature(hook).bind(**dict.fromkeys(_HOOK_ARGUMENTS))
        except TypeError as error:
            self.refuse(
                "authorize_answer", f"has an authorize_answer that can't be called: {error}", fix
            )

    def _check_approvals(self, agent: Agent) -> None:
        approvals = cast("object", agent.approvals)
        if not isinstance(approvals, Mapping):
            self.refuse(
                "approvals",
                "has approvals that aren't a mapping",
                'write {"refunds": "slack:C0123"}',
            )
            return
        for policy, where in cast("Mapping[object, object]", approvals).items():
            try:
                Target.parse(str(where))
            except ValueError as error:
                self.refuse(
                    "approvals", f"shows {policy} where nothing is: {error}", "", text=str(where)
                )

    def check_routes(
        self, channels: Collection[str], asked: Collection[str], spelled: Collection[str]
    ) -> None:
        """That requests are shown on a channel there is, and by a policy that somebody asks.
        ``asked`` are those that a tool names in so many words, ``spelled`` what else may be one. A
        policy alone is also what tainted calls fall back to, so it is doubtful only beside one that
        looks like it."""
        approvals = cast("object", self.agent.approvals if self.agent else {})
        if not isinstance(approvals, Mapping):
            return
        routes = cast("Mapping[object, object]", approvals)
        for named, where in ((str(named), str(where)) for named, where in routes.items()):
            policy = named.rpartition(":")[2]
            channel, colon, _ = where.strip().partition(":")
            if colon and channel and channel not in channels:
                there = f"there is {', '.join(sorted(channels))}" if channels else "there is none"
                self.refuse(
                    "approvals",
                    f"shows {policy} at {where}, but there is no channel {channel}; {there}",
                    f"write channels/{channel}.py, or name a channel that is there",
                    text=where,
                )
            near = did_you_mean(policy, asked)
            if policy not in {"taint", *spelled} and (near or len(routes) > 1):
                self.warn(
                    "approvals",
                    f"says where {policy!r} is shown, but no tool asks that policy{near}",
                    "name it in a tool's answerers, or drop it",
                    text=named,
                )

    def _check_surface(
        self, source: str, surface: object, tools: Collection[str], overlays: Mapping[str, str]
    ) -> None:
        if not isinstance(surface, Surface):
            self.refuse(
                "surfaces",
                f"gives {source} a {type(surface).__name__} as its surface",
                f'write {{"{source}": Surface(…)}}',
                text=source,
            )
            return
        if surface.mode not in ("append", "replace"):
            self.refuse(
                "surfaces",
                f"gives {source} the mode {surface.mode!r}",
                "use append or replace",
                text=source,
            )
        elif source not in overlays and (surface.mode == "replace" or self._names_mode(source)):
            self.refuse(
                "surfaces",
                f"gives {source} a mode, but there is no instructions.{source}.md",
                f"write instructions.{source}.md, or drop mode=",
                text=source,
            )
        self._check_denied(source, surface.deny_tools, tools)

    def _names_mode(self, source: str) -> bool:
        """Whether the file spells out ``mode=``: the record can't tell a default from a choice."""
        surfaces = self.node("surfaces")
        if not isinstance(surfaces, ast.Dict):
            return False
        return any(
            isinstance(key, ast.Constant)
            and key.value == source
            and isinstance(value, ast.Call)
            and keyword_of(value, "mode") is not None
            for key, value in zip(surfaces.keys, surfaces.values, strict=True)
        )

    def _check_denied(self, source: str, denied: object, tools: Collection[str]) -> None:
        if isinstance(denied, str) or not isinstance(denied, Collection):
            self.refuse(
                "surfaces",
                f"denies {source} the tools {denied!r}, which is no set",
                'write deny_tools={"<tool>"}',
                text=source,
            )
            return
        for name in sorted(str(tool) for tool in cast("Collection[object]", denied)):
            if name not in tools:
                self.refuse(
                    "surfaces",
                    f"denies {source} the unknown tool {name!r}{did_you_mean(name, tools)}",
                    f"the tools are {', '.join(sorted(tools)) or 'none'}",
                    text=name,
                )


def _is_async(hook: object) -> bool:
    """An ``async def``, or an object that is called like one."""
    call = cast("object", vars(type(hook)).get("__call__"))
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(call)


def _accepts_one(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True
