"""The page behind a link: what would run, both answers, and what came of it. Pure.

Every tag is ours and every other word is escaped. There is no script, nothing is loaded, and the one style
sheet is allowed by its hash. What people and models wrote stands in boxes with a heading of ours, in which
text runs its own way and doesn't turn ours around.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from channels.contract import HookReply
from channels.email.approve import MOST_REASON, choices
from channels.email.deciding.facts import facts
from channels.email.deciding.links import Link
from channels.email.deciding.spelling import exact, moment
from channels.email.writing.clean import block, one_line
from channels.protocol import Card
from gateway.engine.kinds import CancelReason

__all__ = ["ask", "came", "elsewhere", "problem", "replaced", "settled"]

_STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:44rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.3rem;margin:.5rem 0 1rem}h2{font-size:1rem;margin:1.2rem 0 .3rem}
dl{margin:0}dt{font-size:.85rem;opacity:.7;margin-top:.5rem}dd{margin:0}
pre,blockquote{margin:0;padding:.6rem .8rem;border:1px solid rgba(128,128,128,.5);border-radius:.4rem;
background:rgba(128,128,128,.1);white-space:pre-wrap;unicode-bidi:isolate;overflow-wrap:anywhere}
pre{font:.85rem/1.45 ui-monospace,monospace}
form{margin:1.5rem 0}fieldset{border:1px solid rgba(128,128,128,.5);border-radius:.4rem;margin:0 0 1rem}
label{display:block;padding:.6rem 0}input[type=radio]{width:1.2rem;height:1.2rem;vertical-align:-.2rem}
textarea{display:block;box-sizing:border-box;width:100%;min-height:5rem;font:inherit}
button{font:inherit;padding:.6rem 1.2rem;min-height:2.75rem}
.note{border-left:.25rem solid;padding:.1rem .8rem;margin:1rem 0}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
}

_OUTCOMES = {"approved": "Approved", "denied": "Denied", "answered": "Answered"}
_WHY: dict[CancelReason | None, str] = {
    "requested": "the turn was stopped",
    "replaced": "a newer message took its place",
    "reset": "the conversation was reset",
    None: "the turn ended first",
}
_UNCHECKED = (
    "Whether you may decide this couldn't be checked, so nothing was decided. This link is used up."
)
_CAME = {
    "answer:kept": "Your answer is kept and is about to take effect. Load this page again in a moment.",
    "decided": "Your answer was taken.",
    "voted": "Your vote is kept. Somebody else has to decide as well.",
    "voted-before": "Your vote is kept. Somebody else has to decide as well.",
    "not-yours": "The policy doesn't let you decide this, so nothing was decided.",
    "outsider": "You can't decide this by a link, so nothing was decided.",
    "unchecked": _UNCHECKED,
    "hook-failed": _UNCHECKED,
    "no-longer-needed": "This decision is no longer needed.",
}
_NOT_TAKEN = "Your answer wasn't taken, and nothing was decided by it. This link is used up."
REPLACED = "A newer request took the place of this one, and has a letter of its own."


# -- the pages ---------------------------------------------------------------------------------------
def ask(
    card: Card, link: Link, nonce: str, *, console: str = "", note: str = "", status: int = 200
) -> HookReply:
    """The one page with a form. ``note`` says why it is shown once more."""
    return _page(
        status,
        "Decide whether this may run",
        [
            _note(note) if note else "",
            _about(card, link.who),
            _form(card, nonce),
            _sign_in(console),
        ],
    )


def settled(card: Card, link: Link, *, status: int = 200) -> HookReply:
    """Decided, by whomever, or not to be decided any more."""
    return _page(
        status, "This is decided", [_note(_outcome(card)), *_reason(card), _about(card, link.who)]
    )


def came(card: Card, link: Link, rule: str, *, console: str = "", status: int = 200) -> HookReply:
    """The link was used, and the request is still open. ``rule`` is that of the answer's verdict."""
    said = _CAME.get(rule, _NOT_TAKEN)
    if rule in {"voted", "voted-before"}:
        said = f"{said} So far {len(card.votes)} of {card.quorum} agree."
    return _page(
        status, "This link was used", [_note(said), _about(card, link.who), _sign_in(console)]
    )


def elsewhere(card: Card, link: Link, why: str, console: str, *, status: int = 200) -> HookReply:
    """It can't be decided here."""
    return _page(
        status,
        "This isn't decided by a link",
        [_note(why), _about(card, link.who), _sign_in(console)],
    )


def replaced(*, status: int = 200) -> HookReply:
    return _page(status, "This decision is no longer needed", [_note(REPLACED)])


def problem(status: int, head: str, said: str) -> HookReply:
    return _page(status, head, [_note(said)])


# -- their parts -------------------------------------------------------------------------------------
def _page(status: int, head: str, parts: Iterable[str]) -> HookReply:
    html = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="robots" content="noindex">'
        f"<title>{escape(head)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(head)}</h1>\n{''.join(parts)}</main></body></html>\n"
    )
    return HookReply(status, html.encode(errors="replace"), _HEADERS)


def _note(said: str) -> str:
    return f'<p class="note" role="status">{escape(block(said))}</p>\n'


def _about(card: Card, who: str) -> str:
    rows = "".join(
        f'<dt>{escape(name)}</dt><dd><bdi dir="auto">{escape(value)}</bdi></dd>'
        for name, value in facts(card, who)
    )
    parts = [
        f"<h2>{escape(one_line(card.tool))} would run with exactly this</h2>\n",
        f"<pre>{escape(exact(card.arguments))}</pre>\n",
        _quoted("The agent asks, in its own words", card.prompt),
        f"<h2>About it</h2>\n<dl>{rows}</dl>\n",
    ]
    if card.asked is not None and card.asked.words:
        parts.append(_quoted("What was written to the agent", card.asked.words))
        if card.asked.hidden:
            parts.append(f"<p>… {card.asked.hidden} more characters, not shown here</p>\n")
    return "".join(parts)


def _quoted(head: str, text: str) -> str:
    return f'<h2>{escape(head)}</h2>\n<blockquote dir="auto">{escape(block(text))}</blockquote>\n'


def _form(card: Card, nonce: str) -> str:
    offered = "".join(
        f'<label><input type="radio" name="answer" value="{number}" required>'
        f' <bdi dir="auto">{escape(label)}</bdi></label>\n'
        for number, (label, _) in enumerate(choices(card.schema))
    )
    return (
        '<form method="post" autocomplete="off">\n'
        f'<input type="hidden" name="nonce" value="{escape(nonce)}">\n'
        f"<fieldset><legend>Your answer</legend>\n{offered}</fieldset>\n"
        "<label>Why (optional; the agent reads it)"
        f'<textarea name="reason" maxlength="{MOST_REASON}"></textarea></label>\n'
        "<button>Send this answer</button>\n</form>\n"
    )


def _sign_in(console: str) -> str:
    if not console:
        return ""
    return f'<p><a href="{escape(console)}" rel="noreferrer">Decide it in the console, signed in</a></p>\n'


def _outcome(card: Card) -> str:
    decided = card.decided
    at = "" if decided is None else f" at {moment(decided.at)}"
    match card.outcome:
        case "expired":
            return f"Nobody decided in time; it expired{at}."
        case "cancelled":
            return f"It is no longer needed{at}: {_WHY[card.why_dropped]}."
        case outcome:
            by = (decided.by if decided is not None else "") or "somebody"
            ran = {
                "failed": " The call failed.",
                "dropped": f" It was not carried out: {_WHY[card.why_dropped]}.",
            }
            return f"{_OUTCOMES.get(str(outcome), 'Decided')} by {by}{at}.{ran.get(card.call, '')}"


def _reason(card: Card) -> list[str]:
    decided = card.decided
    if decided is None:
        return []
    parts: list[str] = []
    if card.outcome == "answered":
        parts.append(f"<h2>The answer</h2>\n<pre>{escape(exact(decided.value))}</pre>\n")
    if decided.reason:
        parts.append(_quoted("The reason that was given", decided.reason))
    return parts
