"""The catalogue in the prompt, and what ``read_skill`` gives out and keeps in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.definition import DefinitionError, load_agent
from gateway.definition.skills import catalogue
from gateway.engine.kinds import Json
from gateway.engine.tool import InvalidToolInput, Tool
from tests.unit.definition.directories import write

FILES = {
    "skills/returns/labels.md": "Print two labels.",
    "skills/returns/forms/eu.md": "The form for Europe.",
    "skills/returns/_draft.md": "secret draft",
    "skills/returns/.env": "SECRET=1",
    "skills/apologies/SKILL.md": """
        ---
        name: apologies
        description: >
          How to say sorry
          and mean it.
        license: MIT
        ---
        Be specific.
    """,
}


def reader(root: Path) -> Tool:
    return load_agent(write(root, FILES), env={}).definition.tools["read_skill"]


def read(tool: Tool, **arguments: Json) -> object:
    return tool.run(**tool.validate(arguments))


def test_the_catalogue_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    one = load_agent(write(tmp_path / "one", FILES), env={})
    two = load_agent(write(tmp_path / "two", dict(reversed(FILES.items()))), env={})
    assert one.definition.instructions == two.definition.instructions
    assert one.definition.instructions.endswith(
        "\n\n- apologies: How to say sorry and mean it.\n- returns: How returns work."
    )
    assert catalogue(()) == ""


def test_a_directory_without_skills_has_no_reader(tmp_path: Path) -> None:
    loaded = load_agent(write(tmp_path, {"skills/returns/SKILL.md": None}), env={})
    assert "read_skill" not in loaded.definition.tools
    assert "Skills" not in loaded.definition.instructions


def test_it_reads_the_skill_and_names_its_files(tmp_path: Path) -> None:
    tool = reader(tmp_path)
    assert (tool.effect, tool.remote) == ("read", False)
    assert read(tool, name="apologies") == "Be specific."
    assert read(tool, name="returns") == (
        "Ask for the parcel.\n\nFiles of this skill: forms/eu.md, labels.md"
    )
    assert read(tool, name="returns", file="SKILL.md") == read(tool, name="returns")
    assert read(tool, name="returns", file="forms/eu.md") == "The form for Europe."


@pytest.mark.parametrize(
    "file",
    [
        "../apologies/SKILL.md",
        "../../agent.py",
        "/etc/passwd",
        "forms/../labels.md",
        "./labels.md",
        "forms",
        "",
        ".env",
        "_draft.md",
        "labels.md\0",
    ],
)
def test_it_gives_out_no_other_file(file: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidToolInput, match=r"its files are forms/eu\.md, labels\.md"):
        read(reader(tmp_path), name="returns", file=file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "refunds"}, "there is no skill 'refunds'; the skills are apologies, returns"),
        ({}, "name: missing"),
        ({"name": 5}, "name: must be text"),
        ({"name": "returns", "file": 5}, "file: must be text"),
        ({"name": "returns", "path": "x"}, "path: no such field; the fields are name, file"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(
    arguments: dict[str, Json], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidToolInput, match=said):
        reader(tmp_path).validate(arguments)


@pytest.mark.parametrize("name", ["stolen.md", "SKILL.md"])
def test_a_link_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("---\nname: returns\ndescription: D.\n---\nsecret")
    root = write(
        tmp_path / "agent", {"skills/returns/SKILL.md": None} if name == "SKILL.md" else {}
    )
    (root / "skills/returns").mkdir(parents=True, exist_ok=True)
    (root / "skills/returns" / name).symlink_to(outside)
    with pytest.raises(DefinitionError, match=f"{name}: is a link that leads out of its folder"):
        load_agent(root, env={})


def test_a_link_inside_its_folder_is_a_file(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    (root / "skills/returns/same.md").symlink_to("labels.md")
    tool = load_agent(root, env={}).definition.tools["read_skill"]
    assert read(tool, name="returns", file="same.md") == "Print two labels."


def test_what_is_not_text_is_named_but_not_read(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    (root / "skills/returns/photo.jpg").write_bytes(b"\xff\xd8\xff")
    tool = load_agent(root, env={}).definition.tools["read_skill"]
    assert "photo.jpg" not in str(read(tool, name="returns"))
    with pytest.raises(InvalidToolInput, match=r"'photo\.jpg' is not a text file"):
        tool.validate({"name": "returns", "file": "photo.jpg"})


def test_a_long_skill_is_cut_with_a_note_and_a_warning(tmp_path: Path) -> None:
    body = "x" * 50_000
    text = f"---\nname: returns\ndescription: D.\n---\n{body}\n"
    loaded = load_agent(write(tmp_path, {"skills/returns/SKILL.md": text}), env={})
    said = str(read(loaded.definition.tools["read_skill"], name="returns"))
    assert said.endswith("[cut here: 10000 more characters]")
    assert any("is long (50000 characters)" in warning.message for warning in loaded.warnings)
