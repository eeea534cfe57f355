"""What a verdict's rule means, in one line for an operator. Pure.

A rule that isn't here is shown as it is: a channel may have rules of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

KEPT = ":kept"
"""Ends the rule of what was acknowledged and is still to be acted on."""

BY_ITSELF = frozenset({"host-busy", "unknown-root"})
"""What is held by these rules lets itself in, or is let go; the rest waits for an operator."""

MEANING: Mapping[str, str] = {
    # let in
    "mention": "it mentions us",
    "direct": "it was said to us alone",
    "agent": "it was said in the agent's own view",
    "thread": "it replies in a thread that we take part in",
    "unknown-root": "it replies to a post of ours that isn't in the books yet",
    "host-busy": "this host takes no more turns now; it is let in when there is room",
    # copies
    "event-seen": "this event was judged before",
    "post-claimed": "its post was let in already, by another event",
    "key-claimed": "the same act was taken already",
    # not said to us
    "not-mentioned": "it doesn't mention us and replies to nothing of ours",
    "not-taking-part": "it replies in a thread that we take no part in",
    "channel-rule-mention": "in this channel, replies are heard when they mention us (follow)",
    "edited-later": "the mention was put in by an edit",
    "no-text-change": "a preview, a file or a marking changed, and no text",
    "subtype": "it is a notice, which nobody said to anybody",
    "event-type": "events of this type are nothing to us",
    "hint": "it is taken note of and starts nothing",
    "home-tab": "only the messages tab of the agent's view has something to show",
    "view-closed": "a form was closed, and nothing sent",
    "user-tokens": "only tokens of persons were revoked, and we hold none",
    "app-rate-limited": "the platform holds events back: there are too many",
    # not understood
    "no-post": "it doesn't say which post it is about",
    "no-author": "it doesn't say who did it",
    "no-thread": "it doesn't say where",
    "no-channel": "it doesn't say which channel",
    "channel-renamed": "the channel has another id from now on; what is known of it goes on under both",
    "interaction": "interactions of this kind aren't supported",
    "unknown-command": "it asks for nothing that can be done here",
    "unknown-action": "the button isn't one of ours",
    "unknown-view": "the form isn't one of ours",
    "unfit-message": "a turn can't be opened with it",
    # whose it was
    "own-post": "we wrote it",
    "own-edit": "a post of ours changed",
    "own-delete": "a post of ours was removed",
    "edit": "a bot's post changed",
    "delete": "a bot's post was removed",
    "not-listed": "a bot wrote it that isn't listed in `bots`",
    "unmentioned": "bots are heard when they mention us in that very message",
    "no-person-spoke": "a bot and we went round and round, and no person spoke in between",
    # who may
    "external": "its author is of another organisation, and the channel isn't opened to those",
    "unknown-installation": "the app isn't installed where it came from",
    "installation-off": "the app was removed there, or its tokens revoked: install it again",
    "other-app": "it was meant for another app",
    "edited-by-other": "somebody else than its author changed it",
    "outsider": "guests and people of other organisations don't decide about this",
    "unchecked": "the platform couldn't be asked who they are",
    "removed-first": "it was removed before it was let in",
    "not-yours": "it is for others to decide",
    "forged-answer": "the message that was pressed on doesn't show this request",
    "too-large": "the message is longer than a turn may open with",
    # mail that isn't answered
    "own-mail": "it is a mail of ours that came back",
    "own-id": "it has the Message-ID of a mail that we sent",
    "own-address": "it says that one of our own addresses wrote it",
    "own-loop-mark": "its X-Loop names us: it has been here before",
    "auto-submitted": "its Auto-Submitted says that a program wrote it",
    "report": "it is a report about another mail, such as a bounce or a receipt",
    "return-path": "it was written to the return path of a letter of ours, which programs answer",
    "null-return-path": "its return path is empty, so nobody wants an answer to it",
    "precedence": "its Precedence is that of bulk, list or automatic mail",
    "list": "a mailing list or a newsletter sent it",
    "auto-reply-field": "it has a field that only automatic answers have",
    "campaign": "its Feedback-ID is that of a campaign",
    "no-reply-sender": "nobody reads the address that it comes from",
    "auto-reply-words": "it answers a mail of ours in an absence note's words",
    "receipt": "it tells that a mail of ours arrived",
    # held for an operator, or mail
    "too-many": "its sender, or all together whom nobody vouches for, had as many answers as they may within the"
    " time; an operator lets it in",
    "stranger": "it came by the address of somebody who takes part, and its author doesn't",
    "taken-over": "a colleague speaks in its conversation now",
    "unattested": "the domain that its author names disowns it, or nobody vouches for it",
    "unreadable-author": "it can't be told who wrote it",
    "colleague-answered": "a colleague answered in the conversation, and the agent keeps out of it",
    "unreadable-mail": "it couldn't be read. Nobody is answered: look at it in the folder Quarantine or by"
    " `gateway mail raw`, and write to its sender yourself",
    "poison-mail": "three times, reading it ended the process or never ended. Nobody is answered: look at it in the"
    " folder Quarantine or by `gateway mail raw`, and write to its sender yourself",
    "over-limit": "it is longer, or more deeply nested, than what is read",
    "bounce": "it tells that a mail of ours didn't arrive, which its delivery shows",
    "bounce-unproven": "it says that a mail of ours didn't arrive, and doesn't prove which: nothing was changed",
    "delayed": "it tells that a mail of ours is late; nothing is lost yet",
    # what came of an answer
    "decided": "the request is decided",
    "voted": "the vote counts; more are needed",
    "voted-before": "the same person's same vote is kept already; others' are needed",
    "form:opened": "a form was opened",
    "show:opened": "the arguments were shown",
    "already-decided": "somebody else, or the deadline, was faster",
    "no-longer-needed": "the request isn't open any more",
    "invalid-answer": "the answer doesn't fit what was asked for; the request stays open",
    "hook-failed": "the agent's authorize_answer hook failed: see the log",
    "gave-up": "it failed for a day: see the log",
    # what came of a control
    "stop:stopped": "the running turn was cancelled",
    "stop:nothing-runs": "nothing was running there any more",
    "stop:not-yours": "only whoever asked, or a member who is no guest, may stop a turn",
    "reset:done": "the conversation starts over",
    "reset:nothing": "there was no conversation there",
    "reset:not-yours": "only members who are no guests may start a conversation over",
    "edit:replaced": "the unfinished turn was replaced by the edited message",
    "edit:changes-nothing": "the turn had ended when the message was edited",
    "edit:superseded": "a later edit came first",
    "edit:nothing-said": "it doesn't say what was edited",
    "edit:no-turn": "the message that was edited never opened a turn",
    "delete:cancelled": "the unfinished turn was cancelled",
    "delete:changes-nothing": "the turn had ended when the message was removed",
    "delete:nothing-said": "it doesn't say what was removed",
    "delete:no-turn": "the message that was removed never opened a turn",
    "home:done": "they were greeted",
    "uninstalled:done": "the app is noted as removed",
    "revoked:done": "the tokens are noted as revoked",
}


def meaning(rule: str) -> str:
    if rule.endswith(KEPT):
        return "it is kept, and acted on next"
    return MEANING.get(rule, rule)
