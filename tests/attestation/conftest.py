"""One run of the real border: every shape goes in as its sender's host would hand it over, and is kept as it
lies in the mailbox. What is tested afterwards is what the gateway reads out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attestation.shapes import FORGED, HONEST, Shape
from tests.support.mail.border import Border, border


@dataclass(frozen=True)
class Played:
    """``mails`` as they lie in the mailbox, by the shape's name; ``records`` are the domains' in DNS."""

    mails: Mapping[str, bytes]
    records: Mapping[str, bytes]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    logs = tmp_path_factory.mktemp("border")
    with ThreadPoolExecutor() as thread:  # which has no loop yet
        return thread.submit(asyncio.run, _played(logs)).result()


async def _played(logs: Path) -> Played:
    shapes = (*HONEST, *FORGED)
    async with border(logs) as stack:
        async with asyncio.TaskGroup() as group:
            for shape in shapes:
                group.create_task(_inject(stack, shape))
        mails = await stack.arrived(len(shapes))
        records = {
            name: text.encode("ascii")
            for domain in stack.domains
            for name, text in domain.records()
        }
    found = {shape.name: _one(mails, f"\r\nDelivered-To: {shape.to}\r\n") for shape in shapes}
    return Played(found, records)


async def _inject(stack: Border, shape: Shape) -> None:
    await stack.inject(
        shape.build(stack, shape.to),
        to=shape.to,
        sender=shape.sender,
        client=shape.client,
        name=shape.host,
    )


def _one(mails: Sequence[bytes], mark: str) -> bytes:
    [raw] = [raw for raw in mails if mark.encode("ascii") in raw]
    return raw
