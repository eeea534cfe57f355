"""``gateway slack manifest``: the app, as Slack is to be told of it. Nothing is ever sent there.

Format: "App manifest reference" in Slack's docs (docs.slack.dev/reference/app-manifest). A name has at most
35 characters, a command 32, a description 140, that of the agent view 300. Without Socket Mode every feature that Slack
calls us for names our address, and with it none does.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, cast

import click

from gateway.cli.base import Group, pass_out
from gateway.cli.commands.check import agent_directory
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import settings
from gateway.config import Settings
from gateway.definition import Loaded, load_agent
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

NAME, COMMAND, DESCRIPTION, AGENT_DESCRIPTION = 35, 32, 140, 300
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
    "channel_id_changed",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
)
VIEW_SCOPE = "assistant:write"
NEEDS: Mapping[str, str] = {
    "app_mentions:read": "hear who mentions it",
    VIEW_SCOPE: "offer prompts in its own view",
    "channels:history": "follow threads in public channels",
    "channels:read": "know the public channels it is in",
    "chat:write": "answer",
    "commands": "start over by command or shortcut",
    "files:read": "read attached files",
    "files:write": "send files and very long answers",
    "groups:history": "follow threads in private channels",
    "groups:read": "know the private channels it is in",
    "im:history": "hear direct messages",
    "im:read": "know its direct messages",
    "im:write": "open direct messages",
    "mpim:history": "hear group messages",
    "mpim:read": "know its group messages",
    "users:read": "know who speaks, and who is a guest",
}
"""What it takes each permission for."""


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


def needs(app: App) -> Mapping[str, str]:
    """The permissions that the app has to be granted, and what for."""
    return {scope: why for scope, why in NEEDS.items() if app.agent_view or scope != VIEW_SCOPE}


def manifest(app: App) -> JsonObject:
    """The app's manifest. Pure."""
    from channels.slack.channel import PROMPTS
    from channels.slack.oauth import CALLBACK
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
                "command": f"/{name}"[:COMMAND],
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
    oauth: JsonObject = {"scopes": {"bot": [*sorted(needs(app))]}}
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
    loaded = load_agent(directory, env=chosen.environ, run_channels=True)
    found = app_of(chosen, loaded)
    if found is None:
        raise Problem(
            "not_found",
            f"{loaded.agent.name} has no channels/slack.py, so there is no app",
            fix="gateway add channel slack",
            status=404,
        )
    return found


def app_of(chosen: Settings, loaded: Loaded) -> App | None:
    """The app of an agent that is in Slack. Blocks: it runs the author's file."""
    from channels.slack.channel import SlackChannel

    name, factory = loaded.agent.name, loaded.channels.get("slack")
    if factory is None:
        return None
    made = factory(chosen.environ)
    code = ast.parse((loaded.path / "agent.py").read_bytes())
    about = (ast.get_docstring(code) or f"{name}, an agent.").split("\n\n")[0]
    return App(
        name=name,
        about=" ".join(about.split()),
        agent_view=not isinstance(made, SlackChannel) or made.options.rules.agent_view,
        public_url=chosen.public_url or NOWHERE,
        socket=chosen.slack_app_token is not None and chosen.slack_signing_secret is None,
        installs=chosen.slack_client_id is not None,
    )


# -- what differs ----------------------------------------------------------------------------------
def read_kept(file: Path) -> JsonObject:
    """The manifest that was written. Raises ``Problem`` where it isn't there, or isn't one."""
    import yaml

    try:
        found: object = yaml.safe_load(file.read_text("utf-8"))
    except FileNotFoundError:
        raise Problem(
            "not_found",
            f"there is no {file} to compare with",
            fix=f"gateway slack manifest > {file}",
            exit_code=Exit.CHECK,
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError):
        found = None
    if not isinstance(found, dict):
        raise Problem(
            "check",
            f"{file} can't be read as a manifest",
            fix=f"gateway slack manifest > {file}",
            exit_code=Exit.CHECK,
        )
    return cast("JsonObject", found)


def differences(kept: JsonObject, wanted: JsonObject, name: str) -> str:
    """What would change, as a unified diff with one line for each key and each entry of a list; the
    order and the way it is written say nothing."""
    old, new = set(_lines(kept)), set(_lines(wanted))
    if old == new:
        return ""
    changed = [(_key(line), 0, f"-{line}\n") for line in old - new]
    changed += [(_key(line), 1, f"+{line}\n") for line in new - old]
    head = f"--- {name}\n+++ what the agent needs\n"
    return head + "".join(line for _, _, line in sorted(changed))


def _key(line: str) -> str:
    return line.partition(": ")[0]


def _lines(item: Json, key: str = "") -> Iterator[str]:
    match item:
        case dict():
            for name, value in item.items():
                yield from _lines(value, f"{key}.{name}" if key else name)
        case list():
            for entry in item:
                yield from _lines(entry, f"{key}[{_called(entry)}]" if _called(entry) else key)
        case _:
            yield f"{key}: {str(item).lower() if isinstance(item, bool) else item}"


def _called(entry: Json) -> str:
    """What tells an entry of a list from the others."""
    if not isinstance(entry, dict):
        return ""
    named = (entry[name] for name in ("callback_id", "command", "title") if name in entry)
    return str(next(named, ""))


def ungranted(app: App, granted: frozenset[str]) -> str:
    """The permissions that the app has to have and hasn't, in the same form."""
    lacking = sorted(needs(app).keys() - granted)
    if not lacking:
        return ""
    head = "--- what Slack has granted\n+++ what the agent needs\n"
    return head + "".join(f"+oauth_config.scopes.bot: {scope}\n" for scope in lacking)


class SlackGroup(Group):
    lazy: ClassVar[Mapping[str, str]] = {"verify": "gateway.cli.doctor.verify.command:verify"}


@click.group(cls=SlackGroup, short_help="The Slack app of the agent.")
def slack() -> None:
    """What Slack has to be told of this gateway."""


@slack.command("manifest")
@click.option("--check", is_flag=True, help="Exit code 3 if the file says something else.")
@click.option("--diff", is_flag=True, help="The same, and show what differs, key by key.")
@click.option("--online", is_flag=True, help="Compare what Slack has granted, too.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("manifest.yml"),
    show_default=True,
    help="The manifest that was written.",
)
@pass_out
def command(out: Out, check: bool, diff: bool, online: bool, file: Path) -> None:
    """Print the manifest of the agent's Slack app: to be pasted at api.slack.com/apps, and kept with
    ``gateway slack manifest > manifest.yml``. Nothing is sent to Slack but, with --online, the
    question what it has granted.
    """
    chosen = settings(out)
    app = read_app(chosen, agent_directory(chosen.agent))
    made = manifest(app)
    if app.public_url == NOWHERE and not app.socket:
        out.note(f"{NOWHERE} stands for your address: set GATEWAY_PUBLIC_URL")
    if not check and not diff and not online:
        out.data(made) if out.json else click.echo(as_yaml(made), file=out.stdout, nl=False)
        return
    changes = differences(read_kept(file), made, file.name)
    lacking = ungranted(app, asyncio.run(_granted(chosen))) if online else ""
    if out.json:
        out.data({"same": not (changes or lacking), "diff": changes + lacking})
    elif diff:
        click.echo(changes + lacking, file=out.stdout, nl=False)
    if not (changes or lacking):
        out.say(("✓ ", "green"), f"{file} is as it should be")
        return
    if changes:
        out.note(f"write it anew: gateway slack manifest > {file}")
    if lacking:
        out.note("paste it on the app's page under App Manifest, then install the app again")
    raise Finished(Exit.CHECK)


async def _granted(chosen: Settings) -> frozenset[str]:
    """The permissions that the bot token has. Raises ``Problem`` where Slack doesn't say."""
    from gateway.cli.doctor.calls import Caller

    if chosen.slack_bot_token is None:
        raise Problem("config", "there is no token to ask with", fix="set SLACK_BOT_TOKEN")
    async with Caller(chosen.slack_api_url) as slack:
        answer = await slack.ask("auth.test", chosen.slack_bot_token.value)
    if not answer.ok:
        raise Problem(
            "unreachable" if answer.lost else "config",
            f"Slack doesn't say what it has granted: {answer.error}",
            fix="gateway doctor slack --online",
        )
    return answer.scopes
