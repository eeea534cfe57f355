"""A tool with every kind of argument, for the tests of its schema and of its input."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from gateway.engine.kinds import JsonObject
from gateway.engine.tool import tool

if TYPE_CHECKING:
    from gateway import ToolContext


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Line:
    sku: str
    count: int = 1


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")

    @field_validator("street")
    @classmethod
    def not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a street can't be blank")
        return value


@tool
def place_order(
    ctx: ToolContext,
    lines: list[Line],
    ship_to: Address,
    size: Size,
    priority: Literal["slow", "fast"] = "slow",
    due: date | None = None,
    tip: Decimal = Decimal(0),
    title: Annotated[str, Field(description="printed on the parcel", max_length=10)] = "",
) -> dict[str, object]:
    """Place an order.

    The customer is charged later.
    """
    del ctx
    return {"lines": lines}


GOOD: JsonObject = {
    "lines": [{"sku": "k-1", "count": 2}],
    "ship_to": {"street": "Quay 1", "zip": "12345"},
    "size": "l",
}
