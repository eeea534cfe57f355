"""PostgreSQL says of deliveries what the plain list says, and a restart voids no lease."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test
from typing_extensions import override

from gateway.engine.ports import SessionStore
from gateway.stores.postgres import PostgresStore
from tests.property.test_delivery_machine import DeliveryMachine

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(120)]

EMPTY = "TRUNCATE gw.sessions, gw.mailboxes, gw.turns, gw.requests, gw.deliveries, gw.parts"


def test_it_says_what_a_plain_list_says(postgres_url: str) -> None:
    class Machine(DeliveryMachine):
        @override
        def make(self, path: Path) -> list[SessionStore]:
            with psycopg.connect(postgres_url) as admin:
                admin.execute(EMPTY)
            return [PostgresStore(postgres_url, connections=2)]

        @rule()
        @override
        def restart(self) -> None:
            for store in self.stores:
                self.do(store.close())
                self.do(store.open())

    run_state_machine_as_test(
        Machine,
        settings=settings(
            settings.get_profile("seeded"),
            max_examples=8,
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
