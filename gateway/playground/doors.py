"""Addresses of the playground: all of where somebody is stands in them, so that a page can be opened
anew, sent on, or opened beside another as somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from channels.slack.emulator import Channel
from gateway.playground.office import Office, Persona
from gateway.playground.screen import Place

HOME = "/playground"


def door(
    at: Place,
    *,
    persona: Persona | None = None,
    channel: Channel | None = None,
    thread: str = "",
    path: str = HOME,
) -> str:
    """The address of a place, or of one that differs from it."""
    asked = dict(at.query)
    if persona is not None:
        asked["as"] = persona.name
    if channel is not None:
        asked = {"as": asked["as"], "in": channel.id}
    if thread:
        asked["thread"] = thread
    return f"{path}?{urlencode(asked)}"


def place_of(office: Office, asked: Mapping[str, str]) -> Place:
    """Where an address leads. What isn't there, or isn't this persona's to see, leads home."""
    persona = office.persona(asked.get("as"))
    known = {channel.id: channel for channel in office.channels(persona)}
    channel = known.get(asked.get("in", ""), office.home)
    root = asked.get("thread") or None
    if root is not None and root not in office.slack.world.messages[channel.id]:
        root = None
    return Place(office=office, persona=persona, channel=channel, root=root)
