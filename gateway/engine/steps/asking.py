"""A request that a tool is making: to be awaited, and nothing else.

A coroutine that nobody awaits is true, so ``ok = ctx.request_input(…)`` followed by ``if ok:`` would
run as if a person had said yes. This one refuses to be anything but awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any

from typing_extensions import override

from gateway.engine.errors import InputRequestError


class Asking(Coroutine[Any, Any, Any]):
    """``begin`` makes the coroutine that asks, when it is first awaited; ``begun`` hears of it."""

    __slots__ = ("_begin", "_begun", "_name", "_work")

    def __init__(
        self, name: str, begin: Callable[[], Coroutine[Any, Any, Any]], begun: Callable[[], None]
    ) -> None:
        self._name = name
        self._begin = begin
        self._begun = begun
        self._work: Coroutine[Any, Any, Any] | None = None

    def _started(self) -> Coroutine[Any, Any, Any]:
        if self._work is None:
            self._begun()
            self._work = self._begin()
        return self._work

    @override
    def __await__(self) -> Generator[Any, Any, Any]:
        return self._started().__await__()

    @override
    def send(self, value: object) -> Any:
        return self._started().send(value)

    @override
    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        error = typ if isinstance(typ, BaseException) else val
        if not isinstance(error, BaseException):
            assert isinstance(typ, type)  # noqa: S101 - the protocol's other form
            error = typ()
        if self._work is None:  # ended before it began: nobody was asked
            raise error
        return self._work.throw(error)

    @override
    def close(self) -> None:
        if self._work is not None:
            self._work.close()

    # -- what it must not pass for -----------------------------------------------------------------
    def __bool__(self) -> bool:
        raise not_awaited(self._name)

    @override
    def __eq__(self, other: object) -> bool:
        raise not_awaited(self._name)

    @override
    def __hash__(self) -> int:
        return id(self)


def not_awaited(name: str) -> InputRequestError:
    return InputRequestError(
        f"the request {name!r} was never awaited, so nobody was asked",
        fix="write `await ctx.request_input(…)`",
    )
