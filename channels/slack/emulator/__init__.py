"""Slack on a socket of this machine: the Web API, events, clicks, sockets, limits, faults.

For tests, for a demo and for people without a workspace. Clients take ``api_url`` as their base address
and don't know the difference, as far as an agent uses the platform. It knows nothing of the channel it
is there to try, and the channel nothing of it.
"""

from __future__ import annotations

from channels.slack.emulator.blocks.render import Button, Shown
from channels.slack.emulator.cast.people import Person
from channels.slack.emulator.cast.screen import Impossible
from channels.slack.emulator.cast.workspace import Workspace
from channels.slack.emulator.events.http import Reply
from channels.slack.emulator.faults import Fault
from channels.slack.emulator.journal import Called, Delivered, Journal, Ping, Unfurled
from channels.slack.emulator.limits import Limits
from channels.slack.emulator.server import SlackEmulator
from channels.slack.emulator.time import RealTime, Time, VirtualTime, fresh_ids
from channels.slack.emulator.world.state import App, Channel, Install, Message, Shortcut

__all__ = [
    "App",
    "Button",
    "Called",
    "Channel",
    "Delivered",
    "Fault",
    "Impossible",
    "Install",
    "Journal",
    "Limits",
    "Message",
    "Person",
    "Ping",
    "RealTime",
    "Reply",
    "Shortcut",
    "Shown",
    "SlackEmulator",
    "Time",
    "Unfurled",
    "VirtualTime",
    "Workspace",
    "fresh_ids",
]
