"""``gateway slack manifest``: the app, as Slack is to be told of it.

Format: "App manifest reference" in Slack's docs (docs.slack.dev/reference/app-manifest). A name has at most
35 characters, a description 140, that of the agent view 300. Without Socket Mode every feature that Slack
calls us for names our address, and with it none does.
"""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import click

from gateway.cli.base import Group, pass_out
from gateway.cli.commands.check import agent_directory
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import settings
from gateway.config import Settings
from gateway.definition import load_agent
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct

NAME, DESCRIPTION, AGENT_DESCRIPTION = 35, 140, 300
NOWHERE = "https://gateway.example"
HEAD = "# Made by `gateway slack manifest`, from the agent and its settings.\n"
HOOK = "/channels/slack"
AGENT_EVENTS = (
    "agent_session_stopped",
    "agent_session_title_changed",
    "app_context_changed",
    "app_home_opened",
)
EVENTS = (
    "app_mention",
    "app_uninstalled",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
)


@struct(frozen=True, slots=True, kw_only=True)
class App:
    """What of an agent its app depends on. ``socket``: Slack's events come by Socket Mode;
    ``installs``: workspaces install it by themselves."""

    name: str
    about: str
    agent_view: bool = True
    public_url: str = NOWHERE
    socket: bool = False
    installs: bool = False


def manifest(app: App) -> JsonObject:
    """The app's manifest. Pure."""
    from channels.slack.channel import PROMPTS
    from channels.slack.oauth import CALLBACK, SCOPES
    from channels.slack.parsing.commands import RESET

    hook = f"{app.public_url}{HOOK}"
    address: JsonObject = {} if app.socket else {"url": hook}
    asked: JsonObject = {} if app.socket else {"request_url": hook}
    name = app.name[:NAME]
    features: JsonObject = {
        "app_home": {
            "home_tab_enabled": False,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": False,
        },
        "bot_user": {"display_name": name, "always_online": True},
        "shortcuts": [
            {
                "name": "Start over",
                "type": "message",
                "callback_id": RESET,
                "description": f"Have {name} forget this conversation",
            }
        ],
        "slash_commands": [
            {
                "command": f"/{name}",
                **address,
                "description": f"Start a conversation with {name} over",
                "usage_hint": "reset <link to a message of it>",
                "should_escape": False,
            }
        ],
    }
    if app.agent_view:
        features["agent_view"] = {
            "agent_description": _cut(app.about, AGENT_DESCRIPTION),
            "suggested_prompts": [*PROMPTS],
        }
    oauth: JsonObject = {"scopes": {"bot": [*sorted(SCOPES)]}}
    if app.installs:
        oauth = {"redirect_urls": [f"{app.public_url}{CALLBACK}"], **oauth}
    events = sorted((*EVENTS, *(AGENT_EVENTS if app.agent_view else ())))
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {"name": name, "description": _cut(app.about, DESCRIPTION)},
        "features": features,
        "oauth_config": oauth,
        "settings": {
            "event_subscriptions": {**asked, "bot_events": [*events]},
            "interactivity": {"is_enabled": True, **asked},
            "org_deploy_enabled": False,
            "socket_mode_enabled": app.socket,
            "token_rotation_enabled": False,
        },
    }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def as_yaml(made: JsonObject) -> str:
    import yaml

    text: str = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - its stubs don't say
        made, sort_keys=False, allow_unicode=True, width=100
    )
    return HEAD + text


def read_app(chosen: Settings, directory: Path) -> App:
    """The app of the agent in a directory, as these settings serve it."""
    from channels.slack.channel import SlackChannel

    loaded = load_agent(directory, env=chosen.environ, run_channels=True)
    name, factory = loaded.agent.name, loaded.channels.get("slack")
    if factory is None:
        raise Problem(
            "not_found",
            f"{name} has no channels/slack.py, so there is no app",
            fix=f"write {directory}/channels/slack.py",
            status=404,
        )
    made = factory(chosen.environ)
    code = ast.parse((directory / "agent.py").read_bytes())
    about = (ast.get_docstring(code) or f"{name}, an agent.").split("\n\n")[0]
    return App(
        name=name,
        about=" ".join(about.split()),
        agent_view=not isinstance(made, SlackChannel) or made.options.rules.agent_view,
        public_url=chosen.public_url or NOWHERE,
        socket=chosen.slack_app_token is not None and chosen.slack_signing_secret is None,
        installs=chosen.slack_client_id is not None,
    )


def differences(kept: str, wanted: str, name: str) -> str:
    """What would change in a manifest that was written, line by line; nothing where it says the same
    in another way."""
    import yaml

    try:
        if yaml.safe_load(kept) == yaml.safe_load(wanted):
            return ""
    except yaml.YAMLError:
        pass  # its lines are compared all the same
    lines = (kept.splitlines(keepends=True), wanted.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, name, "as it should be"))


@click.group(cls=Group, short_help="The Slack app of the agent.")
def slack() -> None:
    """What Slack has to be told of this gateway."""


@slack.command("manifest")
@click.option("--check", is_flag=True, help="Exit code 3 if the file says something else.")
@click.option("--diff", is_flag=True, help="Show what would change in the file.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("manifest.yml"),
    show_default=True,
    help="The manifest that was written.",
)
@pass_out
def command(out: Out, check: bool, diff: bool, file: Path) -> None:
    """Print the manifest of the agent's Slack app: to be pasted at api.slack.com/apps, and kept with
    ``gateway slack manifest > manifest.yml``.
    """
    chosen = settings(out)
    app = read_app(chosen, agent_directory(chosen.agent))
    made = manifest(app)
    if app.public_url == NOWHERE and not app.socket:
        out.note(f"{NOWHERE} stands for your address: set GATEWAY_PUBLIC_URL")
    if not check and not diff:
        out.data(made) if out.json else click.echo(as_yaml(made), file=out.stdout, nl=False)
        return
    if not file.is_file():
        raise Problem(
            "not_found",
            f"there is no {file} to compare with",
            fix=f"gateway slack manifest > {file}",
            exit_code=Exit.CHECK,
        )
    changes = differences(file.read_text("utf-8"), as_yaml(made), file.name)
    if out.json:
        out.data({"same": not changes, "diff": changes})
    elif changes:
        click.echo(changes, file=out.stdout, nl=False)
    else:
        out.say(("✓ ", "green"), f"{file} is as it should be")
    if check and changes:
        out.note(f"write it anew: gateway slack manifest > {file}")
        raise Finished(Exit.CHECK)
