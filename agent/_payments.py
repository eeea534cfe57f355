"""A payments provider in a file: it stands for a remote API, and behaves like one.

It knows what was charged, gives money back once per idempotency key however often it is asked, and
keeps its own books, which no transaction of the gateway covers. Swap it for a real client.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ._orders import SAMPLES

_CREATE = """
    create table if not exists refunds (
        key text primary key, order_id text not null, amount text not null,
        reference text not null, asked integer not null
    )"""
_ADD = """
    insert into refunds values (?, ?, ?, ?, 1)
    on conflict (key) do update set asked = asked + 1"""
_COLUMNS = "select 're_' || rowid, amount, reference from refunds"


class PaymentRefusedError(Exception):
    """The provider knows of nothing it could give back."""


@dataclass(frozen=True, slots=True)
class Charge:
    order_id: str
    amount: Decimal
    card: str


@dataclass(frozen=True, slots=True)
class Refund:
    """``reference`` is the caller's own note on it."""

    id: str
    amount: Decimal
    reference: str


class Payments:
    """``answer_after`` is how many seconds a payment takes to be confirmed, once it is booked."""

    def __init__(self, ledger: Path, *, answer_after: float = 0.0) -> None:
        self._ledger = ledger
        self._answer_after = answer_after
        self._charges = {o.id: Charge(o.id, o.total, o.card) for o in SAMPLES}

    async def charge(self, order_id: str) -> Charge:
        charge = self._charges.get(order_id.strip().lstrip("#"))
        if charge is None:
            raise PaymentRefusedError(f"nothing was charged for order {order_id}")
        return charge

    async def refund_of(self, charge: Charge) -> Refund | None:
        find = f"{_COLUMNS} where order_id = ?"
        return await asyncio.to_thread(self._ask, find, (charge.order_id,))

    async def refund(
        self, charge: Charge, amount: Decimal, *, idempotency_key: str, reference: str
    ) -> Refund:
        """The same key gives the same refund back; the money moves once."""
        row = (idempotency_key, charge.order_id, str(amount), reference)
        find = f"{_COLUMNS} where key = ?"
        refund = await asyncio.to_thread(self._ask, find, (idempotency_key,), row)
        await asyncio.sleep(self._answer_after)
        if refund is None:
            raise PaymentRefusedError(f"the refund of order {charge.order_id} got lost")
        return refund

    def _ask(
        self, find: str, what: tuple[str, ...], new: tuple[str, ...] | None = None
    ) -> Refund | None:
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._ledger, timeout=10)) as db, db:
            db.execute(_CREATE)
            if new is not None:
                db.execute(_ADD, new)
            row = db.execute(find, what).fetchone()
        return None if row is None else Refund(row[0], Decimal(row[1]), row[2])
