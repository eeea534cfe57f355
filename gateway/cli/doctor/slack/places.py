"""Channels that the agent posts into by itself: where requests are decided on, where schedules tell.

Source: "conversations.info" in Slack's docs: ``is_member`` says whether the bot is in the channel; a private
one that it isn't in doesn't exist for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.calls import Answer
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Seen
from gateway.cli.told import object_of, text_of
from gateway.definition.load import Address


def places(seen: Seen) -> Iterator[Finding]:
    if seen.asked is None or seen.defined is None or seen.asked.me is None:
        return
    me = text_of(seen.asked.me.data.get("user")) or seen.defined.loaded.agent.name
    for address in seen.defined.loaded.addresses:
        channel = address.target.address.rpartition(":")[2]
        answer = seen.asked.places.get(channel)
        if address.target.channel == "slack" and answer is not None:
            yield from _place(address, channel, answer, me)


def _place(address: Address, channel: str, answer: Answer, me: str) -> Iterator[Finding]:
    found = object_of(answer.data.get("channel"))
    name = f"#{found.get('name')}" if found.get("name") else channel
    where = address.file + (f":{address.line}" if address.line else "")
    said = f"{where} {address.what} at {address.target}"
    if answer.error == "channel_not_found":
        yield error(
            "slack.place",
            f"the channel {channel} doesn't exist, or is private and the bot isn't in it",
            said,
            Fix(
                text=f"In Slack, type this in the channel; or name another one in {where}",
                command=f"/invite @{me}",
            ),
        )
    elif answer.ok and found.get("is_archived") is True:
        yield error(
            "slack.place",
            f"the channel {name} is archived, so nothing can be posted there",
            said,
            Fix(text=f"Unarchive it in Slack, or name another channel in {where}"),
        )
    elif answer.ok and found.get("is_member") is False:
        yield error(
            "slack.place",
            f"the bot isn't in {name}, so what it posts there is refused",
            said,
            Fix(text=f"In Slack, type this in {name}", command=f"/invite @{me}"),
        )
