"""What a rule may do and see: a person's side of a channel, whatever the channel is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Who = Literal["ada", "lead", "second", "stranger", "guest", "partner"]
"""``ada`` asks. ``lead`` and ``second`` decide about money, ``stranger`` belongs to the house and doesn't;
``guest`` and ``partner`` don't belong to it."""
Replace = Literal["", "speaker", "thread"]
Where = Literal["support", "shared"]
"""``shared``: a place that guests and partners are in, too."""
Telling = Literal["", "message first", "mention first", "all at once"]
"""How the platform tells of one post: as it likes; twice, in an order; or four times in the same moment."""
ResetBy = Literal["command", "shortcut"]

PATIENCE = 15.0


class NotThere(Exception):
    """The platform offers no such thing, as it said itself or as is plain from its protocol."""


@dataclass(frozen=True, slots=True)
class Words:
    """How this surface puts it. Of an answer that ended early: ``stopped``, ``superseded``. Of a request:
    ``expired``, ``denied``, ``needless`` (its turn is gone), ``one_of_two``; of a message behind it:
    ``behind``. ``bot`` is the verdict about a bot that nobody listed."""

    stopped: str
    superseded: str
    failed: str
    expired: str
    denied: str
    needless: str
    one_of_two: str
    behind: str
    bot: str = "other_bot"


@dataclass(frozen=True, slots=True)
class Line:
    """A message of the agent's as people see it, and what can be pressed below it."""

    text: str
    buttons: tuple[str, ...] = ()


class Post(Protocol):
    """Something that somebody said. ``session`` is the conversation that it belongs to."""

    @property
    def session(self) -> str: ...

    @property
    def turn_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Judged:
    word: str
    rule: str


class Driver(Protocol):
    """People at a channel that a whole gateway serves. It knows the wire and nothing behind it, except for
    ``ran`` and ``let_go``, which are the agent's own."""

    name: str
    words: Words
    replaces: bool
    """Whether a newer message can end the answer to an older one."""

    # -- what people do ----------------------------------------------------------------------------
    async def say(
        self,
        who: Who,
        text: str,
        *,
        below: Post | None = None,
        where: Where = "support",
        told: Telling = "",
    ) -> Post:
        """Say it to the agent; ``below`` another post in its conversation, and then not by name."""
        ...

    async def chat(self, who: Who, text: str) -> Post:
        """Say it, and not to the agent."""
        ...

    async def bot_says(self, bot: str, text: str, *, below: Post | None = None) -> Post:
        """``ping`` is a bot that the operator listed, ``stray`` one that nobody did."""
        ...

    async def agent_first(self, text: str) -> Post:
        """Have the agent say something that nobody's message opened."""
        ...

    async def edit(self, post: Post, text: str) -> None: ...

    async def delete(self, post: Post) -> None: ...

    async def withdraw(self, post: Post) -> None:
        """Take it back, in whatever way there is while its turn waits."""
        ...

    async def decide(self, who: Who, post: Post, label: str) -> None:
        """Press this below the request of the post's conversation."""
        ...

    async def deny(self, who: Who, post: Post, reason: str) -> None: ...

    async def press_at_once(self, who: Who, post: Post, label: str, times: int) -> None: ...

    async def decide_elsewhere(self, who: Who, post: Post) -> None:
        """Approve it on another surface than where it was asked."""
        ...

    async def stop(self, who: Who, post: Post) -> None: ...

    async def reset(self, who: Who, post: Post, by: ResetBy) -> None: ...

    # -- what the platform does --------------------------------------------------------------------
    async def tell_again(self, post: Post, times: int = 1) -> None:
        """Deliver everything that it told of this post another time, ``times`` over and at once."""
        ...

    async def say_while_store_is_shut(self, who: Who, text: str) -> Post:
        """Say it while nothing can be committed; check that nobody says "received"; then let commits
        through and do as the platform does about what wasn't received."""
        ...

    async def restart(self) -> None:
        """The gateway stops and comes back. The platform stays."""
        ...

    # -- what people see ---------------------------------------------------------------------------
    async def begins(self, post: Post) -> None:
        """Wait until an answer that is said slowly has come to its middle, which people see where the
        platform shows what is being written."""
        ...

    async def seen(self, post: Post) -> Sequence[Line]:
        """All that the agent shows in the post's conversation, oldest first."""
        ...

    async def private(self, who: Who) -> Sequence[str]:
        """What only this person was told."""
        ...

    async def pinged(self) -> Sequence[str]:
        """Who was notified by something that the agent wrote, without whoever asked it."""
        ...

    async def verdicts(self, post: Post) -> Sequence[Judged]:
        """How what came in about this post was judged, oldest first."""
        ...

    async def unjudged(self) -> Sequence[str]:
        """What came in and has no verdict."""
        ...

    async def found_by(self, reference: str) -> Sequence[str]:
        """Ids of the turns that an operator finds under what a person quotes."""
        ...

    async def rests(self) -> None:
        """Wait until nothing is on its way in or out and no turn runs."""
        ...

    @property
    def known_id(self) -> str:
        """What the platform knows somebody else by."""
        ...

    # -- the agent's own ---------------------------------------------------------------------------
    @property
    def ran(self) -> Sequence[str]:
        """What tools did, over all restarts."""
        ...

    def let_go(self) -> None:
        """Let what is said slowly go on."""
        ...


# -- in a rule's words -----------------------------------------------------------------------------
async def texts(driver: Driver, post: Post) -> list[str]:
    return [line.text for line in await driver.seen(post)]


async def whole(driver: Driver, post: Post) -> str:
    """Everything shown in a conversation, as one text."""
    return "\n".join(await texts(driver, post))


async def request_in(driver: Driver, post: Post) -> Line:
    """The one line that can be pressed below."""
    (line,) = [line for line in await driver.seen(post) if line.buttons]
    return line
