"""What was said in a thread before we were called into it.

Source: "conversations.replies", "Pagination", "Rate limit changes for non-Marketplace apps" in Slack's docs
(docs.slack.dev): replies come oldest first, with the root on every page; ``latest`` leaves itself out; some
apps get fifteen at once and one page a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from channels.slack.calls import Ambiguous, NotNow, Ok, Refused, SlackApi
from channels.slack.parsing.envelope import items, kind_of, obj, slack_id, stamp, text
from channels.slack.parsing.identity import Installed
from channels.slack.parsing.messages import HEARD
from channels.slack.parsing.voices import bot_ids, bot_name
from channels.slack.reads.people import Profile, outsider
from channels.slack.words import inward
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct
from gateway.intake.material.frame import indented, label

__all__ = ["Thread", "authors", "told", "why"]

MOST_REPLIES = 20
MOST_PAGES = 5
PAGE = 200
MOST_CHARACTERS = 8000
LONGEST_POST = 2000


class Thread:
    """What was read so far: ``gap`` says what wasn't, if anything."""

    def __init__(self) -> None:
        self.root: JsonObject | None = None
        self.replies: list[JsonObject] = []
        self.left_out = 0
        self.gap: str | None = "Slack took too long"

    async def read(self, api: SlackApi, fetch: JsonObject) -> None:
        """The root, and the last replies before the message that called us."""
        installation, root = text(fetch, "installation"), stamp(fetch, "thread_ts")
        args: JsonObject = {
            "channel": slack_id(fetch, "channel"),
            "ts": root,
            "latest": stamp(fetch, "ts"),
            "limit": PAGE,
        }
        for _ in range(MOST_PAGES):
            outcome = await api.call(installation, "conversations.replies", args)
            if not isinstance(outcome, Ok):
                self.gap = why(outcome)
                return
            self._take(outcome.data, root)
            cursor = text(obj(outcome.data.get("response_metadata")), "next_cursor")
            if not cursor:
                self.gap = None
                return
            args = {**args, "cursor": cursor}
        self.gap = "the thread is too long"

    def _take(self, page: JsonObject, root: str) -> None:
        for post in map(obj, items(page.get("messages"))):
            if stamp(post, "ts") == root:
                self.root = post
            elif kind_of(post, "subtype") in HEARD:
                self.replies.append(post)
        over = len(self.replies) - MOST_REPLIES
        if over > 0:
            self.left_out += over
            del self.replies[:over]

    @property
    def posts(self) -> list[JsonObject]:
        return [] if self.root is None else [self.root, *self.replies]


def why(outcome: NotNow | Refused | Ambiguous) -> str:
    """Why something couldn't be read, for the model and who reads over its shoulder."""
    if not isinstance(outcome, Refused):
        return f"not at the moment: {outcome.why}"
    needed = text(outcome.data, "needed")
    if outcome.code == "missing_scope":
        return f"the app lacks the permission {needed}" if needed else "the app lacks a permission"
    if outcome.code in {"not_in_channel", "channel_not_found"}:
        return "the app isn't a member of the channel"
    return f"Slack refused it with {outcome.code}"


# -- whose words -------------------------------------------------------------------------------------------
def authors(posts: Sequence[JsonObject]) -> Iterator[str]:
    """The people to look up, those who spoke last first."""
    for post in [*posts[1:][::-1], *posts[:1]]:
        if not bot_ids(post) and (user := slack_id(post, "user")):
            yield user


@struct(frozen=True, slots=True)
class Told:
    """``trusted`` unless a bot or somebody of another organisation is among the speakers, or a post
    shows more than its author wrote."""

    text: str
    trusted: bool


def told(thread: Thread, me: Installed, known: Mapping[str, Profile], shared: bool) -> Told:
    """The thread as lines, each with who spoke in front; the oldest replies go first where it is too
    much."""
    names = {user: profile.name for user, profile in known.items()}
    lines: list[str] = []
    trusted, left, left_out = True, MOST_CHARACTERS, thread.left_out
    posts = thread.posts
    for n, post in enumerate([*posts[:1], *posts[1:][::-1]]):
        voice, fine = _voice(post, me, known, shared)
        line = f"{voice}: {indented(_said(post, names))}"
        if left < len(line):
            left_out += len(posts) - n
            break
        left -= len(line)
        trusted = trusted and fine
        lines.append(line)
    ordered = [*lines[:1], *lines[1:][::-1]]
    if left_out:
        ordered.insert(1, f"[{left_out} replies in between are left out]")
    if thread.gap is not None:
        ordered.append(f"[The other earlier messages could not be read: {thread.gap}.]")
    return Told("\n".join(ordered), trusted)


def _voice(
    post: JsonObject, me: Installed, known: Mapping[str, Profile], shared: bool
) -> tuple[str, bool]:
    """Who speaks, and whether all of it are the words of one of ours."""
    user = slack_id(post, "user")
    ids = bot_ids(post)
    if ids & {me.bot_user, me.bot_id, me.app} - {""} or (me.bot_user and user == me.bot_user):
        return "you", True
    profile = known.get(user)
    if ids:
        name = text(post, "username") or text(obj(post.get("bot_profile")), "name")
        name = label(name or (profile.name if profile else ""))
        return f"bot {name} ({bot_name(post) or 'unknown'})".replace("  ", " "), False
    home = slack_id(post, "user_team") or slack_id(post, "source_team") or slack_id(post, "team")
    foreign = _foreign(me, home, profile, shared)
    kind = "outsider" if foreign else "guest" if profile and profile.guest else "person"
    name = label(profile.name if profile else "")
    # What Slack unfolds below it are a page's words, or those of somebody who was quoted.
    own = not items(post.get("attachments"))
    return f"{kind} {name} ({user or 'unknown'})".replace("  ", " "), own and not foreign


def _foreign(me: Installed, home: str, profile: Profile | None, shared: bool) -> bool:
    if profile is not None:
        return outsider(me, home, profile)
    return not me.owns(home) if home else shared


def _said(post: JsonObject, names: Mapping[str, str]) -> str:
    """Its text; for a bot's post that is made of blocks or attachments, theirs."""
    parts = [text(post, "text") or " ".join(_texts(post.get("blocks")))]
    for one in map(obj, items(post.get("attachments"))[:5]):
        shown = [text(one, name) for name in ("pretext", "title", "text")]
        parts.append("\n".join(filter(None, shown)) or text(one, "fallback"))
    files = map(obj, items(post.get("files"))[:5])
    parts += [f"[file: {label(text(one, 'name') or text(one, 'title'))}]" for one in files]
    plain = inward.plain("\n".join(filter(None, parts)), names=names).text.strip()
    if len(plain) > LONGEST_POST:
        return f"{plain[:LONGEST_POST]} […]"
    return plain or "[nothing that can be read]"


def _texts(blocks: Json) -> Iterator[str]:
    """Whatever text stands anywhere in blocks."""
    waiting = items(blocks)[::-1]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting += here[::-1]
        elif isinstance(here, dict):
            if words := text(here, "text"):
                yield words
            waiting += [one for one in reversed(here.values()) if isinstance(one, dict | list)]
