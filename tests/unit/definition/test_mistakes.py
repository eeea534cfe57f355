"""Every mistake an author can make in an agent directory, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.definition.directories import agent_py
from tests.unit.definition.mistakes import Case


def tool_file(body: str, name: str = "extra") -> dict[str, str | None]:
    return {f"tools/{name}.py": f"from gateway import tool\n\n{body}"}


def skill(head: str, body: str = "Do it.", folder: str = "extra") -> dict[str, str | None]:
    return {f"skills/{folder}/SKILL.md": f"---\n{head}\n---\n{body}\n"}


SURFACE = '    surfaces={\n        "slack": Surface(%s),\n    },'
SERVICES = "async def hook(*, policy, by):\n    return True\n"

CASES = [
    # agent.py
    Case("no agent.py", {"agent.py": None}, ": has no agent.py", "agent = Agent("),
    Case("no agent in it", {"agent.py": "x = 1\n"}, "agent.py: defines no agent", "agent = Agent("),
    Case("another agent", {"agent.py": "x = 1\nagent = 5\n"}, "agent.py:2: makes agent a int"),
    Case(
        "unknown argument",
        {"agent.py": agent_py("    tool=1,")},
        "agent.py:3: fails on import: TypeError: Agent.__init__() got an unexpected keyword",
    ),
    Case(
        "a name for no address",
        {
            "agent.py": 'from gateway import Agent\nagent = Agent(\n    name="My Shop",\n    model="m")\n'
        },
        "agent.py:3: has the name 'My Shop', which can't stand in an address",
        "use up to 64 of a-z",
    ),
    Case(
        "no model",
        {"agent.py": 'from gateway import Agent\nagent = Agent(name="a", model="")\n'},
        "agent.py:2: names no model",
    ),
    Case(
        "a model that is none",
        {"agent.py": 'from gateway import Agent\nagent = Agent(name="a", model=5)\n'},
        "agent.py:2: has a int as its model",
    ),
    Case(
        "services that take nothing",
        {"agent.py": agent_py("    services=lambda: 1,")},
        "agent.py:6: has a services that isn't a function of one argument",
        "write def services(env)",
    ),
    Case(
        "a hook that isn't async",
        {"agent.py": agent_py("    authorize_answer=lambda **_: True,")},
        "agent.py:6: has an authorize_answer that isn't async",
        "write async def authorize_answer(*, policy, scope, by,",
    ),
    Case(
        "a hook with too few arguments",
        {"agent.py": agent_py("    authorize_answer=hook,", SERVICES)},
        "agent.py:8: has an authorize_answer that can't be called: got an unexpected keyword",
    ),
    Case(
        "approvals nowhere",
        {"agent.py": agent_py('    approvals={\n        "refunds": "C0123",\n    },')},
        "agent.py:7: shows refunds where nothing is: 'C0123' is no target",
    ),
    Case(
        "a surface that is none",
        {"agent.py": agent_py('    surfaces={"slack": "append"},')},
        "agent.py:6: gives slack a str as its surface",
    ),
    Case(
        "an unknown mode",
        {"agent.py": agent_py(SURFACE % 'mode="prepend"')},
        "agent.py:7: gives slack the mode 'prepend'",
        "use append or replace",
    ),
    Case(
        "replace without an overlay",
        {"agent.py": agent_py(SURFACE % 'mode="replace"')},
        "agent.py:7: gives slack a mode, but there is no instructions.slack.md",
        "write instructions.slack.md, or drop mode=",
    ),
    Case(
        "append without an overlay",
        {"agent.py": agent_py(SURFACE % 'mode="append"')},
        "agent.py:7: gives slack a mode, but there is no instructions.slack.md",
    ),
    Case(
        "denies an unknown tool",
        {"agent.py": agent_py(SURFACE % 'deny_tools={"find_orders"}')},
        "agent.py:7: denies slack the unknown tool 'find_orders' (did you mean \"find_order\"?)",
        "the tools are find_order, read_skill",
    ),
    Case(
        "denies letters",
        {"agent.py": agent_py(SURFACE % 'deny_tools="find_order"')},
        "agent.py:7: denies slack the tools 'find_order', which is no set",
        'write deny_tools={"<tool>"}',
    ),
    # what goes wrong on import
    Case(
        "syntax error",
        {"tools/extra.py": "def extra(:\n    pass\n"},
        "tools/extra.py:1: can't be parsed: invalid syntax",
    ),
    Case(
        "missing package",
        {"tools/extra.py": "import json\nimport stripe_sdk\n"},
        "tools/extra.py:2: fails on import: ModuleNotFoundError: No module named 'stripe_sdk'",
        "install stripe_sdk",
    ),
    Case(
        "missing helper",
        {"tools/extra.py": "from .._help import x\n"},
        "tools/extra.py:1: fails on import: ModuleNotFoundError",
        "create agent/_help.py, or correct the relative import",
    ),
    Case(
        "absolute import of a neighbour",
        {"_help.py": "x = 1\n", "tools/extra.py": "import _help\n"},
        "tools/extra.py:1: fails on import: ModuleNotFoundError: No module named '_help'",
        "from . import _help",
    ),
    Case(
        "a helper that fails, imported twice",
        {
            "_help.py": "import math\n\nx = 1 / 0\n",
            "tools/one.py": "from .._help import x\n",
            "tools/two.py": "from .._help import x\n",
        },
        "_help.py:3: fails on import: ZeroDivisionError: division by zero",
    ),
    Case(
        "a file that leaves",
        {"tools/extra.py": "import sys\nsys.exit(3)\n"},
        "tools/extra.py:2: fails on import: SystemExit: 3",
    ),
    # tools
    Case(
        "no tool",
        {"tools/extra.py": "def extra() -> None:\n    pass\n"},
        "tools/extra.py: defines no tool",
        "put @tool above def extra(…)",
    ),
    Case(
        "two tools",
        tool_file("@tool\ndef a() -> None:\n    'A.'\n\n@tool\ndef b() -> None:\n    'B.'\n"),
        "tools/extra.py:7: defines 2 tools: a, b",
        "give each a file of its own",
    ),
    Case(
        "a bad effect",
        tool_file("@tool(effect='rm')\ndef extra() -> None:\n    'E.'\n"),
        "tools/extra.py:3: extra() has the unknown effect 'rm'",
        "use one of read, write, external, money",
    ),
    Case(
        "money without a key",
        tool_file("@tool(effect='money')\nasync def extra(x: str) -> None:\n    'E.'\n"),
        "tools/extra.py:3: extra() moves money but names no key",
        "name the arguments that identify the payment",
    ),
    Case(
        "a key that is no argument",
        tool_file(
            "@tool(effect='money', key=('y',))\nasync def extra(x: str) -> None:\n    'E.'\n"
        ),
        "tools/extra.py:3: extra() has the key 'y', which is not one of its arguments",
    ),
    Case(
        "external but plain",
        tool_file("@tool(effect='external')\ndef extra(x: str) -> None:\n    'E.'\n"),
        "tools/extra.py:3: extra() has the effect 'external' but is not async",
    ),
    Case(
        "no hint",
        tool_file("@tool\ndef extra(x) -> None:\n    'E.'\n"),
        "tools/extra.py:3: extra() gives x no type hint",
    ),
    Case(
        "an unknown option",
        tool_file("@tool(efect='read')\ndef extra() -> None:\n    'E.'\n"),
        "tools/extra.py:3: fails on import: TypeError: tool() got an unexpected keyword",
    ),
    Case(
        "a plain tool that asks",
        tool_file("@tool\ndef extra(ctx) -> None:\n    'E.'\n    ctx.request_input(id='a')\n"),
        "tools/extra.py:6: extra() is a plain def, which can't wait for a person",
        "declare it async def extra(…)",
    ),
    Case(
        "services that nobody builds",
        tool_file("@tool\ndef extra(ctx) -> None:\n    'E.'\n    ctx.services.pay()\n"),
        "tools/extra.py:6: uses ctx.services, but the agent has none",
        "give Agent services=",
    ),
    Case(
        "a tool named by no identifier",
        {"tools/find-it.py": ""},
        "tools/find-it.py: can't name a tool: 'find-it'",
    ),
    Case(
        "the gateway's own tool",
        {"tools/read_skill.py": "", "tools/nothing_to_report.py": ""},
        "tools/read_skill.py: takes the name of the gateway's own read_skill",
        others=[
            "tools/nothing_to_report.py: takes the name of the gateway's own nothing_to_report"
        ],
    ),
    # skills
    Case("empty skill", {"skills/extra/": ""}, "skills/extra: has no SKILL.md", "SKILL.md"),
    Case(
        "lower-case skill",
        {"skills/extra/skill.md": "x"},
        "skills/extra: has no SKILL.md",
        "rename skill.md to SKILL.md",
    ),
    Case(
        "skill outside a folder",
        {"skills/extra.md": "x"},
        "skills/extra.md: is not in a folder",
        "move it to agent/skills/extra/SKILL.md",
    ),
    Case(
        "skill of another name",
        skill("description: D.\nname: other"),
        "skills/extra/SKILL.md:3: calls itself 'other', but its folder is 'extra'",
        "write name: extra",
    ),
    Case(
        "skill without a name", skill("description: D."), "SKILL.md:1: has no name, but its folder"
    ),
    Case("skill undescribed", skill("name: extra"), "skills/extra/SKILL.md:1: has no description"),
    Case(
        "skill described at length",
        skill(f"name: extra\ndescription: {'x' * 1025}"),
        "skills/extra/SKILL.md:3: has one of 1025 characters description",
    ),
    Case(
        "skill with a misspelt key",
        skill("name: extra\ndescripton: D."),
        "skills/extra/SKILL.md:3: has the unknown key 'descripton' (did you mean \"description\"?)",
        others=["skills/extra/SKILL.md:1: has no description"],
    ),
    Case("skill without text", skill("name: extra\ndescription: D.", ""), "has no text below"),
    Case(
        "skill with a bad name",
        skill("name: Extra!\ndescription: D.", folder="Extra!"),
        "skills/Extra!/SKILL.md: has the name 'Extra!'",
    ),
    Case(
        "skill without front matter",
        {"skills/extra/SKILL.md": "# Extra\n"},
        "skills/extra/SKILL.md:1: doesn't begin with front matter",
    ),
    Case(
        "front matter without an end",
        {"skills/extra/SKILL.md": "---\nname: extra\n"},
        "skills/extra/SKILL.md:1: has front matter without an end",
    ),
    Case(
        "front matter that isn't YAML",
        skill("name: extra\ndescription: a: b"),
        "skills/extra/SKILL.md:3: has front matter that isn't YAML: mapping values are not allowed",
    ),
    Case(
        "a list as front matter",
        skill("- a\n- b"),
        "SKILL.md:2: has front matter that isn't a list of",
    ),
    Case(
        "the same key twice",
        skill("name: extra\nname: extra\ndescription: D."),
        "skills/extra/SKILL.md:3: gives name twice",
    ),
    Case(
        "not UTF-8",
        {"skills/extra/SKILL.md": None, "instructions.md": None, "instructions.x.md/": ""},
        "instructions.x.md: names no source",
    ),
    # the rest
    Case(
        "connections", {"connections/x.toml": ""}, "connections: isn't supported yet: MCP servers"
    ),
    Case("subagents", {"subagents/x/": ""}, "subagents: isn't supported yet: sub-agents"),
    Case(
        "a slip",
        {"tool/x.py": ""},
        'tool: is not part of an agent directory (did you mean "tools"?)',
    ),
    Case("another slip", {"instruction.md": "x"}, '(did you mean "instructions.md"?)'),
    Case(
        "a source in capitals",
        {"instructions.Slack.md": "x"},
        "instructions.Slack.md: names no source",
    ),
    Case("a file for a folder", {"channels": "x"}, "channels: is a file"),
    Case("offline without a reply", {"offline.py": "x = 1\n"}, "offline.py: defines no reply"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_named_with_its_place_and_its_fix(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)
