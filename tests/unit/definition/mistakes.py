"""A mistake in an agent directory, and what is to be said about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.definition import DefinitionError, load_agent
from gateway.engine.errors import ConfigError
from tests.unit.definition.directories import write


@dataclass
class Case:
    name: str
    files: dict[str, str | None]
    problem: str
    """``file:line: message``, as far as it is given here."""
    fix: str = ""
    others: list[str] = field(default_factory=list[str])

    def check(self, tmp_path: Path) -> None:
        root = write(tmp_path / "agent", self.files)
        with pytest.raises(DefinitionError) as refusal:
            load_agent(root, env={})
        shown = f"{tmp_path}/"
        problems = [str(problem).replace(shown, "") for problem in refusal.value.problems]
        assert isinstance(refusal.value, ConfigError)
        assert len(problems) == 1 + len(self.others), problems
        assert all(problem.startswith("agent") for problem in problems)
        found = next((problem for problem in problems if self.problem in problem), None)
        assert found is not None, problems
        assert self.fix in found
        for other in self.others:
            assert any(other in problem for problem in problems)
        assert "_agent_directory_" not in "".join(problems), "the private name is nobody's business"
