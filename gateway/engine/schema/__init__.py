"""Schemas and values: from type hints to what a model sees, from an answer to what a tool gets."""

from __future__ import annotations

from gateway.engine.schema.jsonable import to_json
from gateway.engine.schema.values import check_value, parse_value, value_schema

__all__ = ["check_value", "parse_value", "to_json", "value_schema"]
