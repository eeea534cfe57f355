"""What a model writes arrives whole, and reaches nobody it shouldn't."""

from __future__ import annotations

import re

import pytest

from tests.conformance.channels.driver import Driver, texts, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees

NUMBERED = re.compile(r"Line (\d+) of a long story\.")


class TestPings(Rule):
    about = "Nobody is pinged by a model"
    promise = "what people see"

    async def test_by_text_that_tries(self, driver: Driver) -> None:
        post = await driver.say("ada", f"hostile {driver.known_id}")
        await sees(driver, post, "and that is all.")
        await driver.rests()
        assert list(await driver.pinged()) == []
        assert "Hello" in await whole(driver, post)


class TestLongText(Rule):
    about = "Any length arrives"
    promise = "nothing is lost"

    @pytest.mark.parametrize("characters", [13_300, 45_000])
    async def test_whole_and_in_order(self, driver: Driver, characters: int) -> None:
        post = await driver.say("ada", f"long {characters}")
        await driver.rests()
        lines = [int(one) for one in NUMBERED.findall("\n".join(await texts(driver, post)))]
        assert lines == list(range(len(lines)))
        assert len(lines) * len("Line 100 of a long story.\n\n") > characters * 0.95
