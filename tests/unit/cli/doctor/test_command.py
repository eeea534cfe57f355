"""``gateway doctor`` as somebody types it: what it says, and its exit codes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.cli.operate.manifest import NEEDS
from tests.support.cli import TOKEN, Ran, Shell
from tests.unit.cli.doctor.clinic import REFUND, Clinic, clinic, running
from tests.unit.cli.doctor.test_state_faults import ROUTELESS


async def gateway(ill: Clinic, *words: str) -> Ran:
    settings = {
        **ill.place.settings,
        "GATEWAY_AGENT": str(ill.folder / "agent"),
        "GATEWAY_STATE": str(ill.folder / "state"),
        "GATEWAY_PUBLIC_URL": ill.url,
        "GATEWAY_API_TOKEN": TOKEN,
        "PORT": "0",
    }
    return await asyncio.to_thread(Shell(ill.folder, **settings).run, *words)


async def test_a_healthy_set_up(tmp_path: Path) -> None:
    async with running(tmp_path) as well:
        ran = await gateway(well, "doctor", "--online")
        assert (ran.code, ran.out, ran.err) == (0, "✓ healthy\n", "")
        ran = await gateway(well, "doctor", "slack")
        assert (ran.code, ran.out) == (0, "✓ healthy\n")
        assert ran.err == "neither Slack nor a mail server was asked; with --online they are\n"
        ran = await gateway(well, "doctor", "--online", "--json")
        assert ran.object == {"ok": True, "online": True, "findings": []}


async def test_a_fault_is_told_with_its_way_out(tmp_path: Path) -> None:
    few = [scope for scope in NEEDS if scope != "files:read"]
    async with clinic(tmp_path, scopes=few) as ill:
        await ill.start()
        await ill.paste()
        ran = await gateway(ill, "doctor", "slack", "--online")
        assert (ran.code, ran.err) == (3, "1 error, 0 warnings\n")
        assert ran.out.splitlines() == [
            "✗ slack.reinstall  the manifest's permissions aren't granted: install the app again",
            "  missing files:read (to read attached files)",
            "  fix: On the app's page, Install App, press Reinstall to Workspace",
            "       https://api.slack.com/apps",
        ]
        ran = await gateway(ill, "doctor", "slack", "--online", "--json")
        assert ran.code == 3
        assert ran.object["ok"] is False
        assert ran.object["findings"] == [
            {
                "id": "slack.reinstall",
                "area": "slack",
                "severity": "error",
                "title": "the manifest's permissions aren't granted: install the app again",
                "evidence": "missing files:read (to read attached files)",
                "fix": {
                    "text": "On the app's page, Install App, press Reinstall to Workspace",
                    "url": "https://api.slack.com/apps",
                },
            }
        ]


async def test_a_warning_fails_nothing(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        free = REFUND.replace(', answerers={"policy": "refunds"}', "")
        ill.agent({"tools/issue_refund.py": free, "agent.py": ROUTELESS})
        ran = await gateway(ill, "doctor", "agent")
        assert ran.code == 0
        assert ran.out.startswith("! agent.approvers  issue_refund moves money")
        ill.agent({})
        (tmp_path / ".env").write_text("SLACK_CLIENT_ID=1.2\nCOLOUR=blue\n")
        ran = await gateway(ill, "doctor", "agent")
        assert (ran.code, ran.out.splitlines()) == (
            0,
            [
                "! settings.dotenv  gateway serve runs without what stands only in .env",
                "  SLACK_CLIENT_ID, COLOUR",
                "  fix: Where it is served, set them in the environment",
                "       set -a; . ./.env; set +a; gateway serve",
            ],
        )


async def test_what_holds_for_all_mistakes_is_said_once(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        wrong = "---\ncron: never\n---\nWrite.\n"
        ill.agent({"schedules/daily.md": wrong, "schedules/weekly.md": wrong})
        ran = await gateway(ill, "doctor", "agent")
        assert (ran.code, ran.out.count("✗ agent.definition")) == (3, 2)
        assert ran.out.count("no host starts with it") == ran.out.count("gateway check") == 1
        assert ran.out.count("write five fields") == 2


def test_settings_that_are_wrong_are_all_told(tmp_path: Path) -> None:
    ran = Shell(tmp_path, PORT="many", GATEWAY_HOTS="x").run("doctor", "--json")
    assert ran.code == 3
    rows = ran.object["findings"]
    assert isinstance(rows, list)
    assert [row["id"] for row in rows if isinstance(row, dict)] == ["settings.wrong"] * 2
    assert "gateway config show --origin" in ran.out


def test_an_area_that_there_isnt(tmp_path: Path) -> None:
    ran = Shell(tmp_path).run("doctor", "fax")
    assert (ran.code, "'fax' is not one of 'agent', 'slack', 'email', 'state'" in ran.err) == (
        2,
        True,
    )
