"""A sound agent directory becomes an agent: names, prompts, models, services, a world of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.definition import DefinitionError, Loaded, Reply, load_agent
from gateway.engine.errors import ConfigError, ModelError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import Edition, ModelDelta, ModelReply, ModelRequest
from gateway.engine.ports import Model
from tests.unit.definition.directories import agent_py, write


class Named(Model):
    """A model that only has a name."""

    seam_version = 1

    def __init__(self, name: str, reply: Reply | None = None) -> None:
        self._name = name
        self.reply = reply

    @property
    @override
    def name(self) -> str:
        return self._name

    @property
    @override
    def settings(self) -> JsonObject:
        return {}

    @override
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta | ModelReply]:
        yield ModelReply.say(request.text)

    @override
    async def close(self) -> None:
        """It holds nothing."""


def load(root: Path, files: Mapping[str, str | None] | None = None) -> Loaded:
    return load_agent(write(root, files), env={}, model_factory=Named)


# -- what is found ---------------------------------------------------------------------------------
def test_a_directory_becomes_an_agent(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    agent = loaded.definition
    assert agent.name == "shop"
    assert agent.model.name == "claude-sonnet-5-5"
    assert list(agent.tools) == ["find_order", "read_skill", "nothing_to_report"]
    assert agent.instructions.startswith("You help.\n\n## Skills\n")
    assert loaded.schedules["daily"].target is None
    assert loaded.schedules["daily"].within == timedelta(minutes=30)
    assert loaded.schedules["daily"].seed == "Write the digest."
    assert [skill.name for skill in loaded.skills] == ["returns"]
    assert loaded.warnings == ()


def test_a_tool_is_named_like_its_file_and_private_files_are_skipped(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        {
            "_words.py": 'GREETING = "hello"\n',
            "tools/_more.py": 'NAME = "you"\n',
            "tools/.hidden.py": "raise RuntimeError\n",
            "tools/__pycache__/greet.py": "raise RuntimeError\n",
            "_drafts/tools/x.py": "raise RuntimeError\n",
            "tools/greet.py": """
                from gateway import tool
                from .._words import GREETING
                from ._more import NAME
                from .find_order import find_order

                @tool
                def greet() -> str:
                    'Greet.'
                    return f"{GREETING} {NAME} {find_order.name}"
            """,
        },
    )
    greet = loaded.definition.tools["greet"]
    assert greet.name == "greet"
    assert greet.spec.name == "greet"
    assert greet.run() == "hello you find_order"
    names = ["find_order", "greet", "read_skill", "nothing_to_report"]
    assert list(loaded.definition.tools) == names


def test_a_tool_may_be_built_by_a_helper(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        {
            "_make.py": """
                from gateway import tool

                def make(word: str):
                    @tool
                    def say() -> str:
                        'Say it.'
                        return word
                    return say
            """,
            "tools/say_hi.py": "from .._make import make\n\nsay_hi = make('hi')\n",
        },
    )
    assert loaded.definition.tools["say_hi"].run() == "hi"


def test_overlays_by_source_and_prompts_that_do_not_depend_on_an_editor(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "agent.py": agent_py('    surfaces={"email": Surface(mode="replace")},'),
            "instructions.email.md": "Only mail.",
            "instructions.slack.md": "  In a thread.\n\n",
        },
    )
    (root / "instructions.md").write_bytes("\ufeffTwo\r\nlines.\r\n".encode())
    loaded = load_agent(root, env={})
    assert loaded.definition.instructions.startswith("Two\nlines.\n\n## Skills")
    assert loaded.definition.overlays["slack"] == "In a thread."
    assert loaded.definition.overlays["email"].startswith("Only mail.\n\n## Skills"), (
        "an overlay in the base prompt's place still says which skills there are"
    )


def test_schedules_of_code(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        {
            "channels/slack.py": "def channel(env): ...",
            "schedules/month_end.py": """
                from gateway import Schedule, Target

                def seed(*, at, services):
                    return None if at.day < 28 else "Close the month."

                schedule = Schedule(
                    cron="0 18 * jan,feb 1-5/2", seed=seed, target=Target("slack", "C1"),
                    timezone="America/New_York",
                )
            """,
            "schedules/seeded.md": '---\ncron: "*/15 8-18 * * *"\nseed: Look around.\n---\n',
        },
    )
    assert callable(loaded.schedules["month_end"].seed)
    assert loaded.schedules["seeded"].seed == "Look around."
    assert loaded.schedules["seeded"].target is None


# -- a world of its own ----------------------------------------------------------------------------
def test_nothing_of_it_shadows_anything(tmp_path: Path) -> None:
    before = list(sys.path)
    root = write(
        tmp_path,
        {
            "channels/json.py": "x = 1\n",
            "tools/json.py": """
                from json import dumps
                from gateway import tool

                @tool
                def json() -> str:
                    'As text.'
                    return dumps({})
            """,
        },
    )
    loaded = load_agent(root, env={}, run_channels=False)
    assert loaded.definition.tools["json"].run() == "{}"
    assert sys.path == before
    assert sys.modules["json"].__file__ != str(root / "tools/json.py")
    assert "tools" not in sys.modules
    assert "find_order" not in sys.modules
    assert not list(root.rglob("*.pyc")), "a read-only directory works as well"


def test_a_changed_file_is_read_anew_and_the_first_agent_stays_as_it_was(tmp_path: Path) -> None:
    text = "from gateway import tool\n\n@tool\ndef n() -> int:\n    'N.'\n    return %d\n"
    root = write(tmp_path, {"tools/n.py": text % 1})
    first = load_agent(root, env={})
    (root / "tools/n.py").write_text(text % 2)
    second = load_agent(root, env={})
    assert first.definition.tools["n"].run() == 1
    assert second.definition.tools["n"].run() == 2


def test_a_refused_directory_leaves_no_module_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(DefinitionError):
        load_agent(write(tmp_path, {"tools/x.py": "raise RuntimeError\n"}), env={})
    assert {name for name in set(sys.modules) - before if "agent_directory" in name} == set()


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    root = write(
        tmp_path / "agent",
        {
            "agent.py": agent_py('    surfaces={"slack": Surface(deny_tools={"x"})},'),
            "tools/one.py": "def (\n",
            "tools/two.py": "import nowhere_at_all\n",
            "skills/odd/SKILL.md": "no head",
            "schedules/never.md": "---\ncron: soon\n---\nx\n",
            "offline.py": "x = 1\n",
            "subagents/": "",
        },
    )
    with pytest.raises(DefinitionError) as refusal:
        load_agent(root, env={})
    files = [problem.file.removeprefix(f"{root}/") for problem in refusal.value.problems]
    assert files == [
        "agent.py",
        "offline.py",
        "schedules/never.md",
        "skills/odd/SKILL.md",
        "subagents",
        "tools/one.py",
        "tools/two.py",
    ]
    assert str(refusal.value).startswith("7 mistakes in the agent directory:\n  ")


def test_a_path_that_is_no_directory(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="nowhere: there is no such directory"):
        load_agent(tmp_path / "nowhere", env={})
    file = tmp_path / "agent.py"
    file.write_text("")
    with pytest.raises(DefinitionError, match="is a file, not a directory") as refusal:
        load_agent(file, env={})
    assert f"GATEWAY_AGENT at the directory that holds agent.py, such as {tmp_path}" in str(
        refusal.value
    )


# -- models ----------------------------------------------------------------------------------------
def test_the_operators_model_goes_before_the_agents(tmp_path: Path) -> None:
    root = write(tmp_path)
    assert (
        load_agent(root, env={}, model="other", model_factory=Named).definition.model.name
        == "other"
    )


def test_offline_runs_on_the_scripted_model(tmp_path: Path) -> None:
    root = write(tmp_path)

    def scripted(reply: Reply) -> Model:
        return Named("scripted", reply)

    for loaded in (
        load_agent(root, env={}, offline=True, scripted=scripted, model_factory=Named),
        load_agent(root, env={}, model="scripted", scripted=scripted),
    ):
        model = loaded.definition.model
        assert isinstance(model, Named)
        assert model.reply is not None
        reply = model.reply(request("hello"))
        assert isinstance(reply, ModelReply)
        assert reply.text == "offline"


def test_a_scripted_agent_needs_a_script(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"there is no offline\.py"):
        load_agent(write(tmp_path, {"offline.py": None}), env={}, offline=True)


def test_an_agent_may_bring_its_own_model(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        {
            "agent.py": """
                from gateway import Agent

                class Mine:
                    seam_version = 1
                    name = "mine"
                    settings = {}
                    def stream(self, request):
                        raise NotImplementedError

                agent = Agent(name="shop", model=Mine())
            """
        },
    )
    assert loaded.definition.model.name == "mine"


def test_an_agent_that_is_only_looked_at_has_a_model_that_refuses(tmp_path: Path) -> None:
    model = load_agent(write(tmp_path), env={}).definition.model
    assert model.name == "claude-sonnet-5-5"
    with pytest.raises(ModelError, match="without a way to reach claude-sonnet-5-5"):
        model.stream(request("hello"))


def request(text: str) -> ModelRequest:
    edition = Edition(hash="", body="", model="m", system=text, tools=())
    return ModelRequest(edition=edition, messages=(), history=0, turn_id="t", session="s")


def test_a_hook_may_be_an_object(tmp_path: Path) -> None:
    hook = """
        class Hook:
            async def __call__(self, *, policy, scope, by, principal, request, speaker, services):
                return by == "console:lead"
    """
    loaded = load(tmp_path, {"agent.py": agent_py("    authorize_answer=Hook(),", hook)})
    assert loaded.definition.authorize_answer is loaded.agent.authorize_answer


# -- services --------------------------------------------------------------------------------------
SERVICES = {
    "plain": "def build(env):\n    return {'url': env['SHOP_URL']}\n",
    "async": "async def build(env):\n    return {'url': env['SHOP_URL']}\n",
}


@pytest.mark.parametrize("kind", SERVICES)
def test_services_are_built_at_start_from_the_environment(kind: str, tmp_path: Path) -> None:
    root = write(tmp_path, {"agent.py": agent_py("    services=build,", SERVICES[kind])})
    loaded = load_agent(root, env={"SHOP_URL": "https://shop.example"})
    assert loaded.definition.services is None, "looking at an agent opens nothing"
    started = asyncio.run(loaded.start())
    assert started.services == {"url": "https://shop.example"}
    with pytest.raises(ConfigError, match="the services of shop need SHOP_URL, which isn't set"):
        asyncio.run(load_agent(root, env={}).start())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "returned nothing"),
        ("raise OSError('refused')", "can't be built: OSError: refused"),
        ("raise SystemExit(2)", "can't be built: ExitRaised: it raised SystemExit"),
    ],
)
def test_services_that_are_missing_stop_the_start(body: str, said: str, tmp_path: Path) -> None:
    build = f"def build(env):\n    {body}\n"
    root = write(tmp_path, {"agent.py": agent_py("    services=build,", build)})
    with pytest.raises(ConfigError, match=said):
        asyncio.run(load_agent(root, env={}).start())


def test_an_agent_without_services_starts_as_it_is(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert asyncio.run(loaded.start()) is loaded.definition
