"""``gateway config``: what this gateway would run with, and where each value came from."""

from __future__ import annotations

import click

from gateway.cli.base import Group, pass_out
from gateway.cli.out import Out, Part
from gateway.cli.seat import settings


@click.group(cls=Group, short_help="Show the configuration.")
def config() -> None:
    """Settings: environment beats gateway.toml beats defaults."""


@config.command("show")
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@click.option("--all", "everything", is_flag=True, help="Also settings that are not set.")
@pass_out
def show(out: Out, origin: bool, everything: bool) -> None:
    """Every setting with its value; secrets are masked."""
    rows = list(settings(out).shown())
    if out.json:
        out.data(
            [
                {"name": name, "value": value or None, "origin": came_from}
                for name, value, came_from in rows
            ]
        )
        return
    shown = [row for row in rows if everything or row[1]]
    columns = ["SETTING", "VALUE", *(["FROM"] if origin else [])]
    table: list[list[Part]] = []
    for name, value, came_from in shown:
        line: list[Part] = [name, value or ("not set", "dim")]
        table.append([*line, (came_from, "dim")] if origin else line)
    out.table(columns, table)
    if hidden := len(rows) - len(shown):
        out.note(f"{hidden} more are not set: gateway config show --all")
