"""June in Slack: what its people are told there, beside the conversation itself."""

from __future__ import annotations

from collections.abc import Mapping

from channels.protocol import Channel
from channels.slack import slack_channel


def channel(env: Mapping[str, str]) -> Channel:
    return slack_channel(
        env,
        # Whoever corrects a question while June still writes gets one answer: to the last.
        replace_in_flight="speaker",
        policy_words={"refunds": "@support-leads"},
        task_titles={
            "find_order": "Looking up order {order_id}",
            "issue_refund": "Refunding order {order_id}",
            "note_on_order": "Leaving a note on order {order_id}",
            "orders_digest": "Going through the orders",
        },
    )
