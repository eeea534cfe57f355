"""Slack's webhook: judged over the raw bytes, stored, and only then acknowledged.

Wire (docs.slack.dev, "The Events API", "Handling user interaction", "Slash commands"): events, clicks and
commands may all come to one address. Slack waits three seconds for a 2xx and otherwise sends an event again,
up to three times, unless the refusal carries ``X-Slack-No-Retry: 1``; clicks and commands come once. A
submitted form is closed by an empty 200, and kept open with remarks by ``response_action: errors``, keyed
by ``block_id``. ``url_verification`` wants its challenge back.

Between bytes and 200 no call to Slack is made, and nothing of the agent's is run: one look for the
installation, one for channels of it that changed their ids, for a form one at its request, then the commit.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from channels.contract import MISSING, Answer, HookReply, HookRequest, Ignored, Parsed, Route
from channels.protocol import ChannelContext
from channels.slack.approve import FormErrors, completed
from channels.slack.installs.renames import Renames
from channels.slack.parse import UNKNOWN, Envelope, Handshake, parse, read, read_socket
from channels.slack.parsing.identity import Homes
from channels.slack.parsing.lifecycle import RENAMED, renaming
from channels.slack.policy import SlackRules
from channels.slack.verify import MAX_BODY, Refused, check
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.struct import replace
from gateway.values import Secret

__all__ = ["Ingress"]

NO_RETRY = {"X-Slack-No-Retry": "1"}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
JSON = {"Content-Type": "application/json"}

log = logging.getLogger("gateway.slack")


MINUTE = Millis(60_000)
MOST_STRANGE = 100
"""Installations that are warned of, each once."""

_COPY = "copy it from the app's page, Basic Information → Signing Secret"
OURS: Mapping[str, str] = {
    "no_secret": f"SLACK_SIGNING_SECRET isn't set; {_COPY}",
    "signature": f"the signature isn't made with SLACK_SIGNING_SECRET; {_COPY}",
    "stale": "their time is over five minutes from this host's; set its clock",
}
"""Refusals that may be a mistake of ours. Of the others Slack sends none."""

REFUSED = "Slack refuses the app token"
MUTE = "lines to Slack open and go silent"
STRANGER = "another process holds a line to Slack with our SLACK_APP_TOKEN"
"""What may be wrong with a line for Socket Mode, in words that the doctor knows."""


class Refusals:
    """What wasn't let in. It is told once for each reason and minute, and nothing of it is kept."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.problem: str | None = None
        self._told: dict[str, tuple[Millis, int]] = {}

    def add(self, reason: str, at: Millis) -> None:
        self.counted[reason] += 1
        why = OURS.get(reason)
        if why is not None:
            self.problem = f"requests are refused: {why}"
        before, told = self._told.get(reason, (None, 0))
        if before is not None and at - before < MINUTE:
            return
        count = self.counted[reason] - told
        self._told[reason] = (at, self.counted[reason])
        said = "1 request was" if count == 1 else f"{count} requests were"
        log.warning("slack: %s refused: %s", said, why or f"not as Slack sends them ({reason})")

    def passed(self) -> None:
        """Something verified has come: whatever was refused, it wasn't for a mistake of ours."""
        self.problem = None


class Ingress:
    """What comes in from Slack, by webhook or by socket. ``refused`` counts what wasn't let in, by
    reason; nothing of that is stored. ``ours`` names the one installation there is a token for."""

    def __init__(
        self,
        secrets: Sequence[Secret],
        rules: SlackRules,
        homes: Homes,
        ours: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.refusals = Refusals()
        self._ours = ours
        self._strange: set[str] = set()
        self._secrets = secrets
        self._rules = rules
        self._homes = homes
        self._ctx: ChannelContext | None = None
        self._renames: Renames | None = None

    @property
    def refused(self) -> Counter[str]:
        return self.refusals.counted

    @property
    def problem(self) -> str | None:
        """Why Slack may not get through to us, while nothing that it signed has come since."""
        return self.refusals.problem

    def begin(self, ctx: ChannelContext, renames: Renames | None = None) -> None:
        self._ctx = ctx
        self._renames = renames or Renames(ctx)

    def routes(self) -> list[Route]:
        return [Route(method="POST", handler=self.handle, body_limit=MAX_BODY)]

    # -- HTTP ------------------------------------------------------------------------------------------
    async def handle(self, request: HookRequest) -> HookReply:
        verified = check(self._secrets, request.headers.items(), request.body, request.at)
        if isinstance(verified, Refused):
            return self._refuse(verified, request.at)
        self.refusals.passed()
        found = read(verified, request.headers.get("content-type", ""))
        if isinstance(found, Refused):
            return self._refuse(found, request.at)
        if isinstance(found, Handshake):
            return HookReply(200, found.answer.encode(), TEXT)
        try:
            answer = await self.take(found)
        except StoreUnavailableError:
            log.warning("slack: %s can't be stored now, Slack is to send it again", found.event_id)
            return HookReply(503, b"this can't be stored now: send it again", TEXT)
        return HookReply() if answer is None else HookReply(200, json.dumps(answer).encode(), JSON)

    def _refuse(self, refused: Refused, at: Millis) -> HookReply:
        """Who isn't let in may be Slack all the same, with a clock or a secret that is about to be put
        right; what is no payload stays none."""
        self.refusals.add(refused.reason, at)
        more = {} if refused.status == 401 else NO_RETRY
        return HookReply(refused.status, refused.why.encode(), {**TEXT, **more})

    # -- either way --------------------------------------------------------------------------------------
    async def take_frame(self, kind: str, payload: object) -> JsonObject | None:
        """An envelope's content, as it came by socket. Raises ``StoreUnavailableError``, and it must
        not be acknowledged then."""
        found = read_socket(kind, payload)
        self.refusals.passed()
        if isinstance(found, Refused):
            self.refused[found.reason] += 1
        return await self.take(found) if isinstance(found, Envelope) else None

    async def take(self, envelope: Envelope) -> JsonObject | None:
        """Have it judged. When this returns, that is committed, and what it returns is the answer to
        Slack. Raises ``StoreUnavailableError``."""
        ctx, renames = self._ctx, self._renames
        if ctx is None or renames is None:
            raise StoreUnavailableError("the channel hasn't started yet", fix="send it again")
        me = await self._homes.installed(envelope.installation)
        if me is not None:
            me = replace(me, renamed=await renames.read(me.key))
        parsed = parse(envelope, me, self._rules)
        if isinstance(parsed, Ignored) and parsed.rule == UNKNOWN:
            self._stranger(envelope)
        one = renaming(envelope)
        if one is not None and isinstance(parsed, Ignored) and parsed.rule == RENAMED:
            await renames.add(envelope.installation, one)
        if envelope.kind == "rate_limited":
            log.warning("slack: events of %s are held back by Slack", envelope.installation)
        if isinstance(parsed, Answer) and parsed.value is MISSING:
            filled = await _filled(ctx, parsed)
            if isinstance(filled, FormErrors):
                _ = await ctx.receive(_unfit(parsed))
                return {"response_action": "errors", "errors": dict(filled.errors)}
            parsed = filled
        _ = await ctx.receive(parsed)
        return None

    def _stranger(self, envelope: Envelope) -> None:
        """Once for each installation: every event of it has a verdict all the same."""
        whose, ours = envelope.installation or "an installation without a name", self._ours()
        if whose in self._strange or len(self._strange) >= MOST_STRANGE:
            return
        self._strange.add(whose)
        why = (
            "the app isn't installed there; open /channels/slack/install"
            if ours is None
            else f"SLACK_BOT_TOKEN is of {ours}; set that of {whose}, or let both install the app"
            " (SLACK_CLIENT_ID)"
        )
        told = "slack: what comes from %s starts nothing: %s (gateway why %s)"
        log.warning(told, whose, why, envelope.event_id)


async def _filled(ctx: ChannelContext, answer: Answer) -> Answer | FormErrors:
    """The answer with what was picked or typed as its value. One whose request is gone stays without:
    it has become needless, which is for others to say."""
    card = await ctx.card(answer.request)
    return answer if card is None else completed(answer, card.schema)


def _unfit(answer: Answer) -> Parsed:
    """The person is told in the form itself; the request stays open."""
    return Ignored(
        event_id=answer.event_id,
        verdict="unsupported",
        rule="form-errors",
        reason="what was typed doesn't fit the request, which the form says",
        speaker=answer.by.id,
    )
