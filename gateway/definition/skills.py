"""Skills: a line each in the prompt, the whole text when the model asks for it.

A skill's folder is read once, when the agent is loaded. What ``read_skill`` can return is what was
found then, looked up by name in memory, so no argument of a model ever becomes a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.definition.problems import Findings
from gateway.definition.source import (
    FrontMatter,
    check_keys,
    entries,
    is_private,
    read_text,
    split,
)
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.tool import InvalidToolInput, Tool

TOOL = "read_skill"
MAIN = "SKILL.md"
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024
_LONGEST_TEXT = 40_000
"""Characters one call returns: about ten thousand tokens."""
_ADVISED_LINES = 500
_MOST_FILES = 200
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})


@dataclass(frozen=True, slots=True)
class Skill:
    """``files`` maps a path inside the folder to its text; ``None`` for what isn't text."""

    name: str
    description: str
    body: str
    files: Mapping[str, str | None]


def load_skills(folder: Path, shown: str, findings: Findings) -> tuple[Skill, ...]:
    """Every skill of an agent, by name."""
    skills: list[Skill] = []
    for path in entries(folder):
        place = f"{shown}/{path.name}"
        if path.is_dir():
            skill = _load(path, place, findings)
            if skill is not None:
                skills.append(skill)
        elif path.suffix == ".md":
            findings.error(
                place, None, "is not in a folder", f"move it to {shown}/{path.stem}/{MAIN}"
            )
        else:
            findings.warn(place, None, "is ignored: a skill is a folder", _HIDE)
    return tuple(skills)


_HIDE = "begin its name with _ if it isn't meant for the gateway"


def _load(folder: Path, shown: str, findings: Findings) -> Skill | None:
    names = {path.name for path in folder.iterdir()}
    place = f"{shown}/{MAIN}"
    if MAIN not in names:
        other = next((name for name in sorted(names) if name.lower() == MAIN.lower()), None)
        fix = f"rename {other} to {MAIN}" if other else f"write {place}"
        findings.error(shown, None, f"has no {MAIN}", fix)
        return None
    if not _inside(folder / MAIN, folder):
        findings.error(place, None, "is a link that leads out of its folder", "copy the file")
        return None
    text = read_text(folder / MAIN, place, findings)
    head = None if text is None else split(text, place, findings)
    if head is None:
        return None
    check_keys(head, _KEYS, place, findings)
    _check_name(head, folder.name, place, findings)
    description = " ".join(head.values.get("description", "").split())
    if not description or len(description) > _LONGEST_DESCRIPTION:
        said = f"one of {len(description)} characters" if description else "no"
        findings.error(
            place,
            head.lines.get("description", 1),
            f"has {said} description",
            f"say in at most {_LONGEST_DESCRIPTION} characters when to read it: the model chooses"
            " by it",
        )
    if "allowed-tools" in head.lines:
        findings.warn(
            place,
            head.lines["allowed-tools"],
            "names allowed-tools, which this release doesn't enforce",
            "limit tools with deny_tools of a surface",
        )
    if not head.body:
        findings.error(place, None, "has no text below its front matter", "write what to do")
    elif head.body.count("\n") >= _ADVISED_LINES or len(head.body) > _LONGEST_TEXT:
        findings.warn(
            place,
            None,
            f"is long ({len(head.body)} characters); one read returns the first {_LONGEST_TEXT}",
            "move details into files beside it, which the model reads one by one",
        )
    return Skill(folder.name, description, head.body, dict(_files(folder, shown, findings)))


def _check_name(head: FrontMatter, folder: str, place: str, findings: Findings) -> None:
    name = head.values.get("name", "")
    if name != folder:
        said = f"calls itself {name!r}" if name else "has no name"
        line = head.lines.get("name", 1)
        findings.error(
            place, line, f"{said}, but its folder is {folder!r}", f"write name: {folder}"
        )
    if not _NAME.fullmatch(folder) or len(folder) > _LONGEST_NAME:
        findings.error(
            place,
            None,
            f"has the name {folder!r}",
            f"name the folder with at most {_LONGEST_NAME} of a-z, 0-9, - and _",
        )


def _files(folder: Path, shown: str, findings: Findings) -> Iterator[tuple[str, str | None]]:
    found = 0
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_dir() or relative.as_posix() == MAIN or any(map(is_private, relative.parts)):
            continue
        place = f"{shown}/{relative.as_posix()}"
        if not _inside(path, folder):
            findings.error(place, None, "is a link that leads out of its folder", "copy the file")
            continue
        found += 1
        if found > _MOST_FILES:
            findings.warn(shown, None, f"has more than {_MOST_FILES} files; the rest is ignored")
            return
        try:
            yield relative.as_posix(), path.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError):
            yield relative.as_posix(), None


def _inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def catalogue(skills: Sequence[Skill]) -> str:
    """What the prompt says about them; the same skills always give the same bytes."""
    if not skills:
        return ""
    lines = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
    return (
        "## Skills\n\n"
        f"Before you do what a skill covers, read it with the tool {TOOL} and follow it.\n\n{lines}"
    )


def read_skill(skills: Sequence[Skill]) -> Tool:
    """The tool that returns a skill's text, or a file of its folder."""
    known = {skill.name: skill for skill in skills}

    def validate(arguments: JsonObject) -> Mapping[str, object]:
        name, file = arguments.get("name"), arguments.get("file")
        extra = sorted(set(arguments) - {"name", "file"})
        if extra:
            raise InvalidToolInput(f"{extra[0]}: no such field; the fields are name, file")
        if not isinstance(name, str):
            raise InvalidToolInput("name: must be text" if "name" in arguments else "name: missing")
        if not (file is None or isinstance(file, str)):
            raise InvalidToolInput("file: must be text")
        if name not in known:
            raise InvalidToolInput(f"there is no skill {name!r}; the skills are {', '.join(known)}")
        return {"name": name, "text": _text(known[name], file)}

    def run(name: str, text: str) -> str:
        return text

    schema: JsonObject = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": [skill.name for skill in skills]},
            "file": {
                "type": "string",
                "description": "A file the skill mentions; leave it out to read the skill itself.",
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    return Tool(
        name=TOOL,
        description="Read a skill: how to do one kind of task here.",
        input_schema=schema,
        run=run,
        remote=False,
        effect="read",
        validate=validate,
        takes_context=False,
    )


def _text(skill: Skill, file: Json) -> str:
    if file is None or file == MAIN:
        text = _cut(skill.body)
        files = [name for name, content in skill.files.items() if content is not None]
        return f"{text}\n\nFiles of this skill: {', '.join(files)}" if files else text
    content = skill.files.get(str(file))
    if content is not None:
        return _cut(content)
    if str(file) in skill.files:
        raise InvalidToolInput(f"{file!r} is not a text file")
    names = ", ".join(name for name, content in skill.files.items() if content is not None)
    raise InvalidToolInput(
        f"the skill {skill.name} has no file {file!r}; its files are {names or 'none'}"
    )


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}\n\n[cut here: {len(text) - _LONGEST_TEXT} more characters]"
