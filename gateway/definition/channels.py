"""``channels/<name>.py``: a function of the environment that makes a channel.

The file runs when the directory is loaded to serve; its function is called later, once it is known
that the channel's settings are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from channels.protocol import Channel
from gateway.definition.modules import Package
from gateway.definition.problems import DefinitionError, Findings, in_order
from gateway.definition.source import assignment_line, entries, parse
from gateway.engine.errors import ConfigError

FUNCTION = "channel"
_METHODS = ("routes", "start", "stop", "deliver", "deliver_resume", "reconcile")
_WRITE = "write def channel(env): return …_channel(env)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFactory:
    """Makes the channel of one file. What is wrong with it points into the author's code."""

    name: str
    line: int | None
    make: Callable[[Mapping[str, str]], object]
    package: Package

    def __call__(self, env: Mapping[str, str]) -> Channel:
        """Raises ``DefinitionError``, or another ``ConfigError`` where the environment lacks something."""
        findings = Findings()
        made = self._made(env, findings)
        if findings.errors or made is None:
            raise DefinitionError(in_order(findings.errors))
        return made

    @property
    def place(self) -> str:
        """The file, as it is named to people."""
        return f"{self.package.shown}/{self._file}"

    @property
    def _file(self) -> str:
        return f"channels/{self.name}.py"

    def _made(self, env: Mapping[str, str], findings: Findings) -> Channel | None:
        place = self.place
        try:
            made = self.make(env)
        except KeyboardInterrupt:
            raise
        except KeyError as error:
            name = error.args[0] if error.args else "?"
            raise ConfigError(
                f"{place} needs {name}, which isn't set",
                fix=f"set {name} in the environment, or read it with env.get",
            ) from error
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told with its line
            self.package.report(self._file, error, findings, when="when it is called")
            return None
        if lacking := [name for name in _METHODS if not callable(getattr(made, name, None))]:
            findings.error(
                place,
                self.line,
                f"returns a {type(made).__name__}, which is no channel: it has no {lacking[0]}()",
                _WRITE,
            )
            return None
        found = cast("Channel", made)
        if (source := cast("object", getattr(made, "source", None))) != self.name:
            findings.error(
                place,
                self.line,
                f"makes the channel {source!r}, but a channel is named like its file",
                f"rename the file to {source}.py"
                if isinstance(source, str)
                else f'give it source = "{self.name}"',
            )
        return found


def load_channels(
    package: Package, findings: Findings, *, run: bool
) -> tuple[tuple[str, ...], dict[str, ChannelFactory]]:
    """The channels' names. ``run`` also imports each file and finds its function."""
    names: list[str] = []
    found: dict[str, ChannelFactory] = {}
    for path in entries(package.root / "channels"):
        if path.suffix != ".py" or not path.is_file():
            hint = (
                f"its prompt goes to instructions.{path.stem}.md"
                if path.suffix == ".md"
                else "begin its name with _ if it isn't meant for the gateway"
            )
            findings.warn(package.show(path), None, "is ignored: a channel is a .py file", hint)
            continue
        names.append(path.stem)
        module = package.run(f"channels/{path.name}", findings) if run else None
        if module is None:
            continue
        make = _function(module)
        line = assignment_line(parse(path), FUNCTION)
        if make is None:
            findings.error(package.show(path), line, "defines no channel", _WRITE)
        else:
            found[path.stem] = ChannelFactory(name=path.stem, line=line, make=make, package=package)
    return tuple(names), found


def _function(module: ModuleType) -> Callable[[Mapping[str, str]], object] | None:
    made = cast("object", getattr(module, FUNCTION, None))
    return cast("Callable[[Mapping[str, str]], object]", made) if callable(made) else None
