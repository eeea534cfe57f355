"""`gateway new` and `gateway add`: what they make passes its own tests, and nothing is written over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Ran, Shell

pytestmark = pytest.mark.timeout(120)  # starts processes


@pytest.fixture
def shop(tmp_path: Path) -> Shell:
    Shell(tmp_path).ok("new", "shop")
    return Shell(tmp_path / "shop")


def its_own_tests(shop: Shell, code: int = 0) -> str:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio")
    done = subprocess.run(
        (*command, "-W", "error"),
        cwd=shop.folder,
        env=shop.environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def files(shop: Shell) -> set[str]:
    return {path.relative_to(shop.folder).as_posix() for path in shop.folder.rglob("*.*")}


def test_everything_that_is_made_passes_its_tests(shop: Shell) -> None:
    assert "4 passed" in its_own_tests(shop)
    shop.ok("add", "tool", "find_part")
    shop.ok("add", "tool", "order_part", "--approval")
    shop.ok("add", "schedule", "morning_check", "--timezone", "Europe/Paris")
    shop.ok("add", "channel", "slack")
    shop.ok("add", "channel", "email")
    shop.ok("add", "schedule", "evening", "--cron", "30 18 * * fri", "--target", "slack:C0123ABCD")
    evening = (shop.folder / "agent/schedules/evening.md").read_text()
    assert evening.startswith(
        '---\ncron: "30 18 * * fri"\ntimezone: UTC\ntarget: slack:C0123ABCD\n'
    )
    checked = shop.ok("check", "--strict")
    assert "5 tools, 2 schedules, 2 channels" in checked.out
    assert "13 passed" in its_own_tests(shop)


def test_inside_another_project_its_tests_stand_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such"\n')
    (tmp_path / "conftest.py").write_text("raise RuntimeError('of the other project')\n")
    Shell(tmp_path).ok("new", "shop")
    assert "4 passed" in its_own_tests(Shell(tmp_path / "shop"))


@pytest.mark.parametrize(
    ("command", "made"),
    [
        (("tool", "find_part"), {"agent/tools/find_part.py", "tests/test_find_part.py"}),
        (("schedule", "digest"), {"agent/schedules/digest.md", "tests/test_digest.py"}),
        (
            ("channel", "slack"),
            {"agent/channels/slack.py", "agent/instructions.slack.md", "tests/test_slack.py"},
        ),
    ],
    ids=["tool", "schedule", "channel"],
)
def test_what_is_there_is_never_written_over(
    shop: Shell, command: tuple[str, ...], made: set[str]
) -> None:
    before = files(shop)
    said = shop.ok("add", *command, "--json").object
    assert isinstance(said["files"], list)
    assert {str(name) for name in said["files"]} == made == files(shop) - before
    taken = shop.folder / min(made)
    for name in made:
        (shop.folder / name).unlink()
    taken.write_text("mine")
    refused = shop.run("add", *command, "--json")
    assert (refused.code, refused.error["code"]) == (7, "exists")
    assert files(shop) - before == {min(made)}
    assert taken.read_text() == "mine"


def refused(ran: Ran, code: int, *words: str) -> None:
    assert ran.code == code, ran
    assert all(word in ran.err for word in words), ran.err


def test_a_name_must_suit_a_file_a_function_and_a_test(shop: Shell) -> None:
    before = files(shop)
    refused(shop.run("add", "tool", "issue-refund"), 2, "fix: gateway add tool issue_refund")
    refused(shop.run("add", "tool", "9lives"), 2, "fix: gateway add tool tool_9lives")
    refused(shop.run("add", "tool", "import"), 2, "fix: gateway add tool tool_import")
    refused(shop.run("add", "tool", "../evil"), 2, "fix: gateway add tool evil")
    refused(shop.run("add", "tool", "read_skill"), 2, "a tool of the gateway's own")
    refused(shop.run("add", "schedule", "Daily"), 2, "fix: gateway add schedule daily")
    zone = shop.run("add", "schedule", "daily", "--timezone", "Europe/Pariss")
    refused(zone, 2, "fix: gateway add schedule daily --timezone Europe/Paris")
    minute = shop.run("add", "schedule", "daily", "--cron", "61 9 * * *")
    refused(minute, 2, "the minute '61', outside 0-59", "fix: for the minute, write 0 to 59")
    nowhere = shop.run("add", "schedule", "daily", "--target", "slack:C0123")
    refused(nowhere, 2, "there is no channel slack", "fix: write channels/slack.py")
    refused(shop.run("add", "channel", "telegraph"), 2, "slack")
    assert files(shop) == before


def test_without_an_agent_there_is_nothing_to_add_to(tmp_path: Path) -> None:
    refused(Shell(tmp_path).run("add", "tool", "find_part"), 4, "no agent in agent", "gateway new")
    assert list(tmp_path.iterdir()) == []


def test_the_next_steps_are_said(shop: Shell) -> None:
    said = shop.ok("add", "channel", "slack").out
    assert said.index("pytest tests/test_slack.py") < said.index("gateway slack manifest")
    assert "SLACK_BOT_TOKEN" in said
    assert "gateway dev" in said
    said = shop.ok("add", "channel", "email").out
    assert said.index("pytest tests/test_email.py") < said.index("set EMAIL_ADDRESS, either")
    assert said.index("GATEWAY_SECRET_KEYS") < said.index("gateway doctor email --online")
    assert "gateway dev" in said
    refused(shop.run("add", "channel", "email"), 7, "agent/channels/email.py", "are there already")
    assert "gateway dev" in shop.ok("add", "schedule", "daily").out


def test_a_folder_that_is_taken_and_a_name_that_had_to_change(tmp_path: Path) -> None:
    folder = Shell(tmp_path)
    made = folder.ok("new", "9x").out
    assert made.startswith("✓ made 9x with the agent x\n    the name stands in agent/agent.py")
    assert 'name="x"' in (tmp_path / "9x/agent/agent.py").read_text()
    refused(folder.run("new", "."), 7, "fix: gateway new my-agent")
    refused(folder.run("new", "9x"), 7, "fix: gateway new 9x-2")
    here = tmp_path / "here"
    here.mkdir()
    assert "cd " not in Shell(here).ok("new", ".").out


def test_the_next_steps_begin_with_the_way_to_the_command(tmp_path: Path) -> None:
    """After ``make demo``, which puts nothing on the path."""
    home = Path(sys.executable).parent
    line = f'export PATH={home}:"$PATH"'
    without = Shell(tmp_path, PATH="/usr/bin:/bin").ok("new", "one").out
    assert without.splitlines()[-5:-3] == [f"    {line}", "    cd one"]
    assert "export" not in Shell(tmp_path, PATH=f"{home}:/usr/bin:/bin").ok("new", "two").out


def test_dev_without_an_agent_makes_nothing(tmp_path: Path) -> None:
    refused(Shell(tmp_path).run("dev"), 3, "agent: there is no such directory", "fix: cd into")
    assert "mistake" not in Shell(tmp_path).run("dev").err  # one is told on one line
    assert list(tmp_path.iterdir()) == []


def test_a_test_without_an_agent_says_where_it_looked(tmp_path: Path) -> None:
    (tmp_path / "test_lost.py").write_text("def test_lost(agent):\n    agent.ask('hello')\n")
    said = its_own_tests(Shell(tmp_path), code=1)
    assert f"no agent/agent.py above {tmp_path / 'test_lost.py'}" in said
