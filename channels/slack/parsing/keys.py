"""The strings that others hold on to: places, posts, turn ids, dedupe keys, addresses to answer to.

A channel's ids and timestamps contain no colon (``slack_id`` and ``stamp`` see to it), so that no
two things share a string. What Slack tells twice has one post: a mention arrives as ``app_mention``
and as ``message``, with two event ids and one timestamp (docs.slack.dev, "app_mention event").
"""

from __future__ import annotations

from channels.contract import Place
from gateway.engine.kinds import JsonObject

__all__ = [
    "act",
    "changed",
    "claim",
    "client",
    "command",
    "event",
    "opened_home",
    "pair",
    "place",
    "post",
    "reply",
    "submitted",
    "target",
]


def post(installation: str, channel: str, ts: str) -> str:
    """A message, whoever wrote it; also the id of the turn that it opens, and the reference by which
    messages of our own are found again. The channel goes by the id that it had when it was written."""
    return f"slack:{installation}:{channel}:{ts}"


def place(installation: str, channel: str, root: str) -> Place:
    """A thread: the message at its root, and everything below."""
    key = post(installation, channel, root)
    return Place(key=key, session=key)


def pair(thread: Place, bot: str) -> str:
    """We and a bot in one thread. Begins with the thread's place, which resets all of its pairs."""
    return f"{thread.key}:{bot}"


# -- dedupe ----------------------------------------------------------------------------------------
def event(event_id: str) -> str:
    return f"slack:event:{event_id}"


def claim(post_key: str) -> str:
    """A post that was let in: no second event may open a turn for it."""
    return f"slack:post:{post_key.removeprefix('slack:')}"


def client(installation: str, client_msg_id: str) -> str:
    """The author's own id of a message, which a second copy under another timestamp repeats."""
    return f"slack:cmid:{installation}:{client_msg_id}"


def changed(kind: str, post_key: str, at: str) -> str:
    """One edit or removal of a post: ``kind`` is ``edit`` or ``delete``."""
    return f"slack:{kind}:{post_key.removeprefix('slack:')}:{at}"


def act(installation: str, container: str, at: str, user: str) -> str:
    """One press of one person on one message (or, with a view's id, in one modal)."""
    return f"slack:act:{installation}:{container}:{at}:{user}"


def submitted(installation: str, view: str, trigger: str, user: str) -> str:
    return f"slack:view:{installation}:{view}:{trigger}:{user}"


def command(installation: str, trigger: str, user: str) -> str:
    return f"slack:cmd:{installation}:{trigger}:{user}"


def opened_home(installation: str, user: str) -> str:
    """Once for each person: what is shown on a first visit isn't shown again."""
    return f"slack:home:{installation}:{user}"


# -- addresses -------------------------------------------------------------------------------------
def target(
    *,
    installation: str,
    team: str,
    channel: str,
    thread: str,
    recipient: tuple[str, str],
    title: str = "",
) -> JsonObject:
    """Where an answer goes. ``lane`` orders what is sent there; ``team`` is the workspace that
    workspace-scoped methods of an org-wide token want; ``recipient`` the user and team for whom a
    stream is started; ``title`` what the thread's session is called if this begins it."""
    user, user_team = recipient
    return {
        "source": "slack",
        "lane": post(installation, channel, thread),
        "installation": installation,
        "team": team,
        "channel": channel,
        "thread_ts": thread,
        "user": user,
        "user_team": user_team,
        "title": title,
    }


def reply(installation: str, **known: str) -> JsonObject:
    """How to say something to one person privately: what is known of ``team``, ``channel``,
    ``user``, ``user_team``, ``thread_ts``, ``response_url``, ``trigger_id``, ``view_id``."""
    found: JsonObject = {"source": "slack", "installation": installation}
    found.update({name: value for name, value in known.items() if value})
    return found
