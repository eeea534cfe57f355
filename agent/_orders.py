"""The shop's orders, in tables of the gateway's own database.

So a note is written exactly once: it commits with the step of the turn that wrote it, or not at
all. The sample orders are put there when the table is new.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from gateway import FatalToolError, ToolContext


@dataclass(frozen=True, slots=True)
class Order:
    id: str
    customer: str
    items: str
    total: Decimal
    card: str
    status: str
    detail: str


# fmt: off
SAMPLES = (
    Order("1042", "a café in Lyon", "1 glass kettle", Decimal("42.50"), "4242",
          "delivered", "left with a neighbour on Tuesday"),
    Order("1043", "a school in Porto", "2 tea towels, 1 teapot", Decimal("61.00"), "1881",
          "in transit", "with the carrier since yesterday, due tomorrow"),
    Order("1044", "a baker in Graz", "1 milk frother", Decimal("29.90"), "0005",
          "packed", "waiting for the afternoon pick-up"),
    Order("1045", "a hotel in Bergen", "1 espresso machine", Decimal("612.00"), "4444",
          "delivered", "signed for by the customer on Monday"),
    Order("1046", "an office in Ghent", "1 grinder", Decimal("118.00"), "1117",
          "late", "stuck in customs for nine days"),
)
# fmt: on

_CREATE_ORDERS = """
    create table if not exists shop_orders (
        id text primary key, customer text not null, items text not null, total text not null,
        card text not null, status text not null, detail text not null
    )"""
_CREATE_NOTES = """
    create table if not exists shop_notes (
        number integer not null, order_id text not null, note text not null,
        primary key (order_id, number)
    )"""
_ADD = "insert into shop_orders values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing"
_COLUMNS = "select id, customer, items, total, card, status, detail from shop_orders"


class Orders:
    """The tables, through the handle of one call of a plain ``def`` tool."""

    def __init__(self, ctx: ToolContext) -> None:
        db = ctx.store.unwrap()
        if db is None:
            raise FatalToolError(
                "June keeps orders in the store's database, and this store has none"
            )
        self._db = db
        db.execute(_CREATE_ORDERS)
        db.execute(_CREATE_NOTES)
        if not db.execute("select 1 from shop_orders limit 1").fetchone():
            rows = [
                (o.id, o.customer, o.items, str(o.total), o.card, o.status, o.detail)
                for o in SAMPLES
            ]
            db.executemany(_ADD, [*rows])

    def find(self, order_id: str) -> Order | None:
        row = self._db.execute(f"{_COLUMNS} where id = ?", (_number(order_id),)).fetchone()
        return None if row is None else _order(row)

    def all(self) -> list[Order]:
        return [_order(row) for row in self._db.execute(f"{_COLUMNS} order by id").fetchall()]

    def notes(self, order_id: str) -> list[str]:
        rows = self._db.execute(
            "select note from shop_notes where order_id = ? order by number", (_number(order_id),)
        ).fetchall()
        return [str(row[0]) for row in rows]

    def add_note(self, order_id: str, note: str) -> int:
        """Returns how many notes the order has now."""
        number = len(self.notes(order_id)) + 1
        self._db.execute(
            "insert into shop_notes (number, order_id, note) values (?, ?, ?)",
            (number, _number(order_id), note),
        )
        return number


def _number(order_id: str) -> str:
    return order_id.strip().lstrip("#")


def _order(row: tuple[object, ...]) -> Order:
    order_id, customer, items, total, card, status, detail = cast("tuple[str, ...]", row)
    return Order(order_id, customer, items, Decimal(total), card, status, detail)
