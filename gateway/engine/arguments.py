"""What a tool's function takes, told without the libraries that work it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct


class InvalidToolInput(Exception):
    """The model's arguments don't fit the schema; the message names the fields."""


class BadSignature(Exception):
    """The function can't be a tool as it is written."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


@struct(frozen=True, slots=True)
class Signature:
    """``names`` are the arguments the model fills in."""

    takes_context: bool
    names: tuple[str, ...]
    schema: JsonObject
    validate: Callable[[JsonObject], Mapping[str, object]]
