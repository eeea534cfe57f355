"""Checks that end, whoever answers: patterns in time that is linear in the text, no schema without
a bottom.

The answer comes from outside, and a pattern like ``^(a+)+$`` would let 40 letters of it stop the
process. So patterns run on an engine that never goes back over the text (pydantic's, which is Rust's
``regex``). It knows no looking around and no back-references; a request that needs them is refused
when the tool asks. Python's own engine is left for the schemas of the gateway itself, whose patterns
are known to be harmless, and for requests that were stored by earlier releases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, cast
from urllib.parse import unquote

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as NotMatched

from gateway.engine.errors import InputRequestError
from gateway.engine.kinds import Json, JsonObject

Matcher = Callable[[str], bool]


# -- patterns --------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def linear(pattern: str) -> Matcher | None:
    """Whether a text holds a match; ``None`` for a pattern that can't be had in linear time."""
    try:
        text = TypeAdapter[str](Annotated[str, StringConstraints(strict=True, pattern=pattern)])
    except Exception:  # noqa: BLE001 - pydantic's own error for it isn't among its public names
        return None

    def matches(value: str) -> bool:
        try:
            text.validate_python(value)
        except NotMatched:
            return False
        return True

    return matches


def matches(pattern: str, value: str) -> bool:
    found = linear(pattern)
    return re.search(pattern, value) is not None if found is None else found(value)


def check_pattern(
    _validator: Validator, pattern: str, value: object, _schema: JsonObject
) -> Iterable[ValidationError]:
    if isinstance(value, str) and not matches(pattern, value):
        yield ValidationError("doesn't match the pattern")


def check_named_by_pattern(
    validator: Validator, patterns: JsonObject, value: object, _schema: JsonObject
) -> Iterable[ValidationError]:
    """``patternProperties``: the names of fields come from outside like all else."""
    if isinstance(value, dict):
        for pattern, part in patterns.items():
            for name, item in cast("JsonObject", value).items():
                if matches(pattern, name):
                    yield from _below(validator, item, part, name, pattern)


def check_other_names(
    validator: Validator, allowed: Json, value: object, schema: JsonObject
) -> Iterable[ValidationError]:
    """``additionalProperties``: the fields of which neither a name nor a pattern speaks."""
    if isinstance(value, dict):
        given = cast("JsonObject", value)
        others = unnamed(given, schema)
        if allowed is False and others:
            yield ValidationError("has fields that aren't allowed")
        elif isinstance(allowed, dict):
            for name in others:
                yield from _below(validator, given[name], allowed, name)


def unnamed(value: JsonObject, schema: JsonObject) -> list[str]:
    """The fields that a schema's ``properties`` and ``patternProperties`` don't speak of."""
    named = cast("JsonObject", schema.get("properties", {}))
    patterns = cast("JsonObject", schema.get("patternProperties", {}))
    return [
        name
        for name in value
        if name not in named and not any(matches(pattern, name) for pattern in patterns)
    ]


def _below(
    validator: Validator, value: Json, schema: Json, name: str, step: str | None = None
) -> Iterable[ValidationError]:
    descend = cast("Callable[..., Iterable[ValidationError]]", cast("Any", validator).descend)
    return descend(value, schema, path=name, schema_path=step)


# -- what is refused when a tool asks ----------------------------------------------------------------
_HERE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""What is checked on the same value; all others go into it."""
_PARTS = (
    *("properties", "patternProperties", "prefixItems", "items", "additionalProperties"),
    *("contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)


def refuse_unbounded(schema: JsonObject) -> None:
    """Raises ``InputRequestError`` for a schema whose check might not end, or not soon.

    Only what an answer can reach is looked at. References must lead somewhere.
    """
    reached: dict[int, JsonObject] = {}
    waiting = [schema]
    same: TopologicalSorter[int] = TopologicalSorter()
    while waiting:
        here = waiting.pop()
        if id(here) in reached:
            continue
        reached[id(here)] = here
        if here is not schema:
            _refuse_foreign(here)
        for pattern in _patterns(here):
            _refuse_slow(pattern)
        again = [*_schemas(here, _HERE), *_referred(here, schema)]
        same.add(id(here), *map(id, again))
        waiting += [*again, *_schemas(here, _PARTS)]
    _refuse_endless(same)
    uses = {word for one in reached.values() for word in one}
    if {"patternProperties", "unevaluatedProperties"} <= uses:
        raise InputRequestError(
            "the schema of a request has both patternProperties and unevaluatedProperties, which"
            " together can't be checked in bounded time",
            fix="write additionalProperties instead of unevaluatedProperties",
        )


def _schemas(here: JsonObject, words: Iterable[str]) -> Iterator[JsonObject]:
    """The schemas under these keywords: one, a list of them, or some by name."""
    named = ("properties", "patternProperties", "dependentSchemas")
    for word in words:
        held = here.get(word)
        if isinstance(held, dict) and word in named:
            held = list(held.values())
        for part in held if isinstance(held, list) else [held]:
            if isinstance(part, dict):
                yield part


def _referred(here: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    for word in ("$ref", "$dynamicRef"):
        reference = here.get(word)
        found = resolve(reference, root) if isinstance(reference, str) else None
        if isinstance(found, dict):
            yield found


def resolve(reference: str, root: JsonObject) -> Json:
    """What a reference names inside a schema. Raises ``LookupError`` when that is nothing."""
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    here: Json = root
    for step in unquote(reference).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here[name]
        elif isinstance(here, list) and name.isdecimal():
            here = here[int(name)]
        else:
            raise LookupError(reference)
    return here


def _patterns(here: JsonObject) -> Iterator[str]:
    pattern, named = here.get("pattern"), here.get("patternProperties")
    if isinstance(pattern, str):
        yield pattern
    if isinstance(named, dict):
        yield from named


def _refuse_slow(pattern: str) -> None:
    if linear(pattern) is None:
        shown = pattern if len(pattern) <= 200 else f"{pattern[:199]}…"
        raise InputRequestError(
            f"the schema of a request has a pattern that can't be matched in bounded time: {shown}",
            fix="leave out looking around, (?=…) and the like, and back-references, such as \\1",
        )


def _refuse_foreign(here: JsonObject) -> None:
    """A part with an address or a dialect of its own: its references and rules would be others
    than those that were looked at."""
    for word in ("$id", "$schema"):
        if word in here:
            raise InputRequestError(
                f"a part of a request's schema has a {word} of its own",
                fix=f"leave {word} out, or write it at the top only",
            )


def _refuse_endless(same: TopologicalSorter[int]) -> None:
    try:
        same.prepare()
    except CycleError as error:
        raise InputRequestError(
            "the schema of a request refers to itself without going into the answer, so no answer"
            " could ever be checked",
            fix="let it refer to itself under properties or items only",
        ) from error
