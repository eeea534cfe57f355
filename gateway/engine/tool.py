"""Tools: a function, its schema from type hints, and what it may do to the world."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from math import isfinite
from typing import Literal, NoReturn, cast, get_args, overload

from gateway.engine.arguments import BadSignature, InvalidToolInput, Signature
from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Effect, JsonObject
from gateway.engine.model import ToolSpec
from gateway.engine.struct import struct

__all__ = ["InvalidToolInput", "Tool", "ToolDefinitionError", "tool"]

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
"""What every provider takes as a tool's name."""


class ToolDefinitionError(ConfigError):
    """A function that can't be a tool; ``reason`` is the message without its place."""

    code = "tool_definition"
    fault = "author"

    def __init__(self, reason: str, *, file: str, line: int, fix: str) -> None:
        super().__init__(f"{file}:{line}: {reason}", fix=fix)
        self.reason = reason
        self.file = file
        self.line = line


@struct(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``remote`` is how ``run`` was declared: ``async def`` or ``def``.

    ``timeout`` in seconds. ``key`` names the arguments that identify the business fact a ``money``
    tool moves. ``answerers`` says who may let the call run when the taint gate stops it.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: Callable[..., object]
    remote: bool
    effect: Effect
    key: tuple[str, ...] = ()
    timeout: float = 120.0
    parallel: bool = False
    untrusted_output: bool = False
    answerers: Mapping[str, object] | None = None
    validate: Callable[[JsonObject], Mapping[str, object]] = field(default=dict[str, object])
    """Arguments as the model wrote them → keyword arguments for ``run``; raises
    ``InvalidToolInput``."""
    takes_context: bool = True
    unasked: bool = False
    """Only turns that nobody's message began have it."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.input_schema)


Key = tuple[str, ...] | list[str] | str
Decorator = Callable[[Callable[..., object]], Tool]
AsyncDecorator = Callable[[Callable[..., Awaitable[object]]], Tool]


@overload
def tool(function: Callable[..., object], /) -> Tool: ...
@overload
def tool(
    *,
    effect: Literal["money"],
    key: Key,
    timeout: float = 120.0,
    parallel: bool = False,
    untrusted_output: bool = False,
    answerers: Mapping[str, object] | None = None,
) -> AsyncDecorator: ...
@overload
def tool(
    *,
    effect: Literal["external"],
    key: Key = (),
    timeout: float = 120.0,
    parallel: bool = False,
    untrusted_output: bool = False,
    answerers: Mapping[str, object] | None = None,
) -> AsyncDecorator: ...
@overload
def tool(
    *,
    effect: Literal["read", "write"] | None = None,
    key: Key = (),
    timeout: float = 120.0,
    parallel: bool = False,
    untrusted_output: bool = False,
    answerers: Mapping[str, object] | None = None,
) -> Decorator: ...
def tool(  # noqa: PLR0913 - a decorator's options are its vocabulary
    function: Callable[..., object] | None = None,
    /,
    *,
    effect: Effect | None = None,
    key: Key = (),
    timeout: float = 120.0,
    parallel: bool = False,
    untrusted_output: bool = False,
    answerers: Mapping[str, object] | None = None,
) -> Tool | Decorator | AsyncDecorator:
    """Make a tool of a function: bare ``@tool`` or ``@tool(effect=…, …)``.

    The docstring is the description, the type hints are the schema. A first parameter annotated
    ``ToolContext`` (or called ``ctx``) gets the context. ``effect`` says what a call does:
    ``read`` and ``write`` stay inside the store, ``external`` and ``money`` reach outside, so they
    are ``async``; ``money`` names the arguments that identify what is paid with ``key``.

    Raises ``ConfigError`` with the file, the line and the fix.
    """
    options = _Options(
        effect=effect,
        key=(key,) if isinstance(key, str) else tuple(key),
        timeout=timeout,
        parallel=parallel,
        untrusted_output=untrusted_output,
        answerers=answerers,
    )
    if function is None:
        return lambda function: _make(function, options)
    return _make(function, options)


@struct(frozen=True, slots=True, kw_only=True)
class _Options:
    effect: Effect | None
    key: tuple[str, ...]
    timeout: float
    parallel: bool
    untrusted_output: bool
    answerers: Mapping[str, object] | None


@struct(frozen=True, slots=True)
class _Subject:
    """The function under the decorator, and where a complaint about it points."""

    name: str
    file: str
    line: int

    def refuse(self, reason: str, fix: str) -> NoReturn:
        raise ToolDefinitionError(
            f"{self.name}() {reason}", file=self.file, line=self.line, fix=fix
        )


def _make(function: Callable[..., object], options: _Options) -> Tool:
    # Here, so that an author's vocabulary can be imported without what builds schemas.
    from gateway.engine.schema.signature import read_signature

    subject = _subject(function)
    remote = inspect.iscoroutinefunction(function)
    effect: Effect = options.effect or ("external" if remote else "write")
    _check_effect(subject, effect, remote=remote)
    _check_options(subject, options, remote=remote)
    try:
        signature = read_signature(function)
    except BadSignature as bad:
        subject.refuse(bad.reason, bad.fix)
    _check_key(subject, effect, options.key, signature)
    return Tool(
        name=subject.name,
        description=inspect.cleandoc(function.__doc__ or ""),
        input_schema=signature.schema,
        run=function,
        remote=remote,
        effect=effect,
        key=options.key,
        timeout=float(options.timeout),
        parallel=options.parallel,
        untrusted_output=options.untrusted_output,
        answerers=options.answerers,
        validate=signature.validate,
        takes_context=signature.takes_context,
    )


def _subject(function: object) -> _Subject:
    if isinstance(function, Tool):
        inner = _subject(function.run)
        inner.refuse("is decorated with @tool twice", "keep one @tool")
    plain = inspect.unwrap(function) if callable(function) else function
    if not inspect.isfunction(plain):
        raise ToolDefinitionError(
            f"{function!r} is not a function",
            file="?",
            line=0,
            fix="put @tool on a def or async def at the top level of its file",
        )
    code = plain.__code__
    subject = _Subject(plain.__name__, code.co_filename, code.co_firstlineno)
    if not TOOL_NAME.fullmatch(subject.name):
        subject.refuse(
            "has a name that can't be a tool's",
            "use a def with up to 64 ASCII letters, digits and underscores",
        )
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        subject.refuse("yields, but a tool gives one result", "return the result as a whole")
    return subject


def _check_effect(subject: _Subject, effect: Effect, *, remote: bool) -> None:
    effects = cast("tuple[str, ...]", get_args(Effect))
    if effect not in effects:
        subject.refuse(f"has the unknown effect {effect!r}", f"use one of {', '.join(effects)}")
    if effect in ("external", "money") and not remote:
        subject.refuse(
            f"has the effect {effect!r} but is not async: what reaches outside can't run"
            " inside the store's transaction",
            f"declare it async def {subject.name}(…)",
        )


def _check_options(subject: _Subject, options: _Options, *, remote: bool) -> None:
    # Authors don't all run a type checker, so what the hints promise is checked here as well.
    timeout = cast("object", options.timeout)
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not isfinite(options.timeout) or options.timeout <= 0:
        subject.refuse(f"has timeout={timeout!r}", "give a number of seconds above 0")
    for name in ("parallel", "untrusted_output"):
        if not isinstance(getattr(options, name), bool):
            subject.refuse(f"has {name}={getattr(options, name)!r}", f"{name} is True or False")
    if options.parallel and not remote:
        subject.refuse(
            "is parallel but not async: sync tools run one at a time in the store's transaction",
            "declare it async def, or drop parallel=True",
        )
    if options.answerers is not None:
        problem = answerers_problem(options.answerers)
        if problem:
            subject.refuse(
                f"has answerers that {problem}",
                'write answerers={"user": "<identity>"} or answerers={"policy": "<name>"}',
            )


def _check_key(
    subject: _Subject, effect: Effect, key: tuple[str, ...], signature: Signature
) -> None:
    if effect == "money" and not key:
        subject.refuse(
            "moves money but names no key, so a repeated call could pay twice",
            'name the arguments that identify the payment: key=("order_id",)',
        )
    if key and effect not in ("money", "external"):
        subject.refuse(
            f"has a key, which means nothing for the effect {effect!r}",
            'drop key=…, or set effect="money"',
        )
    known = ", ".join(signature.names) or "none"
    for name in key:
        if name not in signature.names:
            subject.refuse(
                f"has the key {name!r}, which is not one of its arguments",
                f"its arguments are: {known}",
            )


def answerers_problem(answerers: object) -> str | None:  # noqa: PLR0911 - one line a rule
    """What is wrong with a choice of answerers, or ``None``. Completes "answerers that …"."""
    if not isinstance(answerers, Mapping):
        return "aren't a mapping"
    given = cast("Mapping[object, object]", answerers)
    unknown = [
        str(k) for k in given if k not in {"user", "policy", "scope", "quorum", "not_requester"}
    ]
    if unknown:
        return f"have the unknown entry {unknown[0]!r}"
    if ("user" in given) == ("policy" in given):
        return "don't name exactly one of user and policy"
    for name in ("user", "policy", "scope"):
        value = given.get(name, "-")
        if not isinstance(value, str) or not value:
            return f"have a {name} that isn't a non-empty text"
    if "scope" in given and "policy" not in given:
        return "have a scope without a policy"
    quorum = given.get("quorum", 1)
    if not isinstance(quorum, int) or isinstance(quorum, bool) or quorum < 1:
        return "have a quorum that isn't a whole number of at least 1"
    if quorum > 1 and "user" in given:
        return "ask one user for a quorum"
    if not isinstance(given.get("not_requester", False), bool):
        return "have a not_requester that isn't True or False"
    return None
