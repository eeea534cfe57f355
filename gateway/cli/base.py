"""What every command shares: the flags that may stand anywhere, and loading on demand.

Commands live in modules that are imported when they run, so that ``gateway --version`` needn't wait
for a web framework.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import ClassVar

import click
from typing_extensions import override

from gateway.cli.out import Out
from gateway.cli.problem import Unknown


class PipeClosed(Exception):
    """Our reader left. Not an ``OSError``, so that click doesn't turn it into exit code 1."""


def _set(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    out = ctx.ensure_object(Out)
    if value:
        match param.name:
            case "json":
                out.json = True
            case "quiet":
                out.quiet = True
            case "no_color":
                out.color = False
            case _:
                out.debug = True


_FLAGS: list[click.Parameter] = [
    click.Option(
        [f"--{name}", *(["-q"] if name == "quiet" else [])],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_set,
        help=text,
    )
    for name, text in {
        "json": "Print JSON.",
        "quiet": "Leave out remarks.",
        "no-color": "No colour (NO_COLOR=1 does the same).",
        "debug": "Log what happens inside, with stack traces.",
    }.items()
]


class Command(click.Command):
    """A command that takes the shared flags after its name too."""

    @override
    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_FLAGS]

    @override
    def invoke(self, ctx: click.Context) -> object:
        try:
            result: object = super().invoke(ctx)
            ctx.ensure_object(Out).stdout.flush()
        except BrokenPipeError as error:
            raise PipeClosed from error
        return result


class Group(click.Group):
    """A group whose commands may live in modules not yet imported: name → ``module:attribute``."""

    command_class = Command
    lazy: ClassVar[Mapping[str, str]] = {}

    @override
    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_FLAGS]

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        # In the order they were declared: the way a reader meets them, not the alphabet.
        return [*self.lazy, *(name for name in self.commands if name not in self.lazy)]

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but a mistyped name is told with the one that was meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            if near:
                raise Unknown(name, f"{ctx.command_path} {near[0]}", ctx)
        return super().resolve_command(ctx, args)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy and cmd_name not in self.commands:
            module, _, attribute = self.lazy[cmd_name].partition(":")
            self.add_command(getattr(importlib.import_module(module), attribute), cmd_name)
        return super().get_command(ctx, cmd_name)


class ListGroup(Group):
    """A group that lists when it is told nothing else: ``gateway sessions --limit 5``."""

    default: ClassVar[str] = "list"

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = any(word in self.commands or word in {"-h", "--help"} for word in args)
        if not named and (not args or args[0].startswith("-")):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class StatusGroup(ListGroup):
    """Likewise where there is one thing and no list of them."""

    default = "status"


pass_out = click.make_pass_decorator(Out, ensure=True)
