"""From a function's type hints to the schema the model sees and the check its arguments pass.

pydantic does the work. Only what decorates or runs tools imports this package.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from typing_extensions import override

from gateway.engine.arguments import BadSignature, InvalidToolInput, Signature
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.schema.fit import DECIMAL_PATTERN, one_line

_SHOWN_PROBLEMS = 8
_EXACT_INTEGER = 2**53


def read_signature(function: Callable[..., object]) -> Signature:
    """Raises ``BadSignature`` when no schema can be made."""
    parameters = list(inspect.signature(function).parameters.values())
    takes_context = bool(parameters) and _is_context(parameters[0])
    inputs = parameters[1:] if takes_context else parameters
    for parameter in inputs:
        _refuse_unusable(parameter)
    hints = {parameter.name: _resolve(function, parameter) for parameter in inputs}
    model = _build_model(inputs, hints)
    return Signature(
        takes_context=takes_context,
        names=tuple(hints),
        schema=_model_schema(model, inputs, hints),
        validate=_validator(model, tuple(hints)),
    )


def _is_context(parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    return parameter.name == "ctx" or _names_context(parameter.annotation)


def _names_context(annotation: object) -> bool:
    # By name: under ``if TYPE_CHECKING`` the class itself may not be there to compare with.
    if isinstance(annotation, str):
        text = annotation.strip("'\" ").partition("[")[0]
        return text.rpartition(".")[2] == "ToolContext"
    annotation = typing.get_origin(annotation) or annotation
    return getattr(annotation, "__name__", "") == "ToolContext"


def _refuse_unusable(parameter: inspect.Parameter) -> None:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise BadSignature(
            f"takes {stars}{name}, which no schema can describe",
            "list each argument by name, with a type hint",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise BadSignature(
            f"takes {name} by position only, but arguments arrive by name",
            "remove the / from the parameter list",
        )
    if name == "ctx" or _names_context(parameter.annotation):
        raise BadSignature(
            f"has its context {name} behind other parameters", f"make {name} the first parameter"
        )
    if parameter.annotation is parameter.empty:
        raise BadSignature(f"gives {name} no type hint", f"annotate it, for example {name}: str")


def _resolve(function: Callable[..., object], parameter: inspect.Parameter) -> object:
    """One hint at a time, so that an unresolvable return type or context hurts nobody."""
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    scope = cast("dict[str, object]", getattr(inspect.unwrap(function), "__globals__", {}))
    try:
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)[parameter.name]
    except Exception as error:
        raise BadSignature(
            f"gives {parameter.name} the type hint {parameter.annotation!s},"
            f" which can't be resolved ({error})",
            "import or define that type at the top level of the file, not under TYPE_CHECKING",
        ) from error


def _build_model(
    inputs: Sequence[inspect.Parameter], hints: Mapping[str, object]
) -> type[BaseModel]:
    """A model whose fields are numbered and aliased, so that an argument may be called ``copy``,
    ``json`` or ``_x`` without meeting pydantic's own names."""
    fields: dict[str, object] = {}
    for number, parameter in enumerate(inputs):
        default = cast("object", parameter.default)
        if isinstance(default, FieldInfo):
            raise BadSignature(
                f"uses Field(…) as the default of {parameter.name}",
                f"write {parameter.name}: Annotated[type, Field(…)] and a plain default",
            )
        field = (
            Field(alias=parameter.name)
            if default is parameter.empty
            else Field(alias=parameter.name, default=default)
        )
        fields[f"p{number}"] = (hints[parameter.name], field)
    make = cast("Callable[..., type[BaseModel]]", create_model)
    try:
        return make("arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except Exception as error:
        raise _blame(hints, error) from error


def _blame(hints: Mapping[str, object], error: Exception) -> BadSignature:
    """Name the one parameter whose type can't be described."""
    make = cast("Callable[[object], TypeAdapter[object]]", TypeAdapter)
    for name, hint in hints.items():
        try:
            make(hint).json_schema()
        except Exception as cause:  # noqa: BLE001 - whatever it is, it names the parameter
            shown = inspect.formatannotation(hint)
            why = str(cause).partition("\n")[0].rstrip(".")
            return BadSignature(
                f"gives {name} the type {shown}, which has no JSON form ({why})",
                "use JSON types, Decimal, date, Enum, Literal, a dataclass or a pydantic model",
            )
    return BadSignature(f"has no usable schema ({error})", "simplify its type hints")


def _model_schema(
    model: type[BaseModel], inputs: Sequence[inspect.Parameter], hints: Mapping[str, object]
) -> JsonObject:
    try:
        schema = model.model_json_schema(schema_generator=SchemaGenerator)
    except Exception as error:
        raise _blame(hints, error) from error
    schema = without_titles(cast("JsonObject", schema))
    if not inputs:  # a tool without arguments still takes an object
        schema.setdefault("properties", {})
    return schema


class SchemaGenerator(GenerateJsonSchema):
    # A default that isn't JSON is simply not shown to the model.
    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012

    @override
    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        """Without a pattern any text at all would pass for a number. Some releases of pydantic
        write one of their own, which looks ahead."""
        out = super().decimal_schema(schema)
        for branch in cast("list[dict[str, object]]", out.get("anyOf", [])):
            if branch.get("type") == "string":
                branch["pattern"] = DECIMAL_PATTERN
        return out


_NAMED = ("properties", "$defs", "patternProperties", "dependentSchemas")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def without_titles(schema: JsonObject) -> JsonObject:
    """The schema less the titles pydantic derives from names: they tell a model nothing new."""
    out: JsonObject = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: _untitled(part) for name, part in value.items()}
        elif key in _LISTED and isinstance(value, list):
            out[key] = [_untitled(part) for part in value]
        else:
            out[key] = _untitled(value) if key in _NESTED else value
    return out


def _untitled(part: Json) -> Json:
    return without_titles(part) if isinstance(part, dict) else part


def _validator(
    model: type[BaseModel], names: tuple[str, ...]
) -> Callable[[JsonObject], Mapping[str, object]]:
    read = cast("Callable[..., BaseModel]", model.__pydantic_validator__.validate_json)

    def validate(arguments: JsonObject) -> Mapping[str, object]:
        text = strict_text(arguments)
        if text is None:
            raise InvalidToolInput("the arguments hold a number or a text that isn't valid JSON")
        try:
            # JSON mode, strict: a date may be text, but "yes" is no boolean and "5" no number.
            filled = read(text, strict=True)
        except ValidationError as error:
            raise InvalidToolInput(explain(error, arguments, names)) from None
        except (Exception, SystemExit) as error:
            # A validator of the author's own that breaks is still only a refused call.
            raise InvalidToolInput(f"{type(error).__name__}: {error}") from error
        given = filled.model_fields_set
        return {
            name: cast("object", getattr(filled, f"p{number}"))
            for number, name in enumerate(names)
            if f"p{number}" in given
        }

    return validate


_STRICT = json.JSONEncoder(allow_nan=False, ensure_ascii=False)


def strict_text(value: Json) -> str | None:
    """The value as strict JSON, or ``None`` where it has no such form: NaN, half a surrogate
    pair, nesting without end. ``5.0`` is written ``5``: JSON has one kind of number."""
    try:
        text = _STRICT.encode(_whole(value))
        text.encode()
    except (ValueError, RecursionError, TypeError):
        return None
    return text


def _whole(value: Json) -> Json:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT_INTEGER else value
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


def explain(error: ValidationError, value: Json, names: Sequence[str] = ()) -> str:
    """All that is wrong in one line, one clause a field, in words a model can act on."""
    clauses: dict[str, list[str]] = {}
    for detail in error.errors(include_url=False, include_context=True):
        where = _place(detail["loc"], value, missing=detail["type"].startswith("missing"))
        said = clauses.setdefault(where, [])
        what = _words(detail["type"], detail["msg"])
        if what not in said:
            said.append(what)
    lines = [
        f"{where}: {' or '.join(said)}" if where else " or ".join(said)
        for where, said in clauses.items()
    ]
    shown = lines[:_SHOWN_PROBLEMS]
    if len(lines) > len(shown):
        shown.append(f"and {len(lines) - len(shown)} more")
    if names and any("no such field" in line for line in lines):
        shown.append(f"the fields are {', '.join(names)}")
    return one_line("; ".join(shown))


def _place(loc: tuple[int | str, ...], value: Json, *, missing: bool) -> str:
    """The path as far as it leads through the value itself: pydantic also names union members."""
    path = ""
    here: Json = value
    for step in loc:
        if isinstance(step, int):
            if not isinstance(here, list) or step >= len(here):
                continue
            here = here[step]
            path += f"[{step}]"
            continue
        if not isinstance(here, dict) or not (step in here or (missing and step is loc[-1])):
            continue
        here = here.get(step)
        path += f".{step}" if path else step
    return path


_WORDS = {
    "missing": "missing",
    "missing_argument": "missing",
    "missing_keyword_only_argument": "missing",
    "extra_forbidden": "no such field",
    "unexpected_keyword_argument": "no such field",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "decimal_type": "must be a decimal number",
    "decimal_parsing": "must be a decimal number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "dataclass_type": "must be an object",
    "none_required": "must be null",
}


def _words(kind: str, said: str) -> str:
    known = _WORDS.get(kind)
    if known is not None:
        return known
    message = " ".join(said.split())
    for prefix in ("Value error, ", "Assertion failed, "):
        message = message.removeprefix(prefix)
    message = message.replace("Input should be ", "must be ", 1)
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
