"""What somebody sees who installs the app: what happened, why, and what to do next."""

from __future__ import annotations

from html import escape

from channels.contract import HookReply
from gateway.engine.struct import struct

__all__ = ["Page", "failed", "installed", "missing", "shown", "unready"]

_AGAIN = "Begin again from the page that brought you here."

_FAILURES = {
    "access_denied": (200, "The installation was cancelled.", "Nothing was installed."),
    "invalid_browser": (
        400,
        "This browser didn't begin the installation.",
        f"Cookies have to be allowed, and the last step has to be in the same browser. {_AGAIN}",
    ),
    "invalid_state": (
        401,
        "This link was used already, or is older than ten minutes.",
        _AGAIN,
    ),
    "missing_code": (400, "Slack's answer is incomplete.", _AGAIN),
    "invalid_code": (
        502,
        "Slack didn't confirm the installation.",
        f"{_AGAIN} If it stays so, the log of the gateway says why.",
    ),
}


@struct(frozen=True, slots=True)
class Page:
    status: int
    head: str
    words: str


def installed(where: str) -> Page:
    return Page(
        200,
        f"The app is installed in this {where}.",
        "You can close this page, and mention the app in a channel that it is a member of.",
    )


def failed(reason: str) -> Page:
    """``reason`` comes out of an address: it chooses words, and is never shown."""
    other = (400, "Slack didn't let the app be installed.", f"Nothing was installed. {_AGAIN}")
    return Page(*_FAILURES.get(reason, other))


def unready(why: str) -> Page:
    return Page(503, "The app can't be installed now.", why)


def missing(setting: str, what: str) -> Page:
    return unready(f"{setting} isn't set: {what}. Whoever runs this gateway can set it.")


def shown(page: Page) -> HookReply:
    head, words = escape(page.head), escape(page.words)
    html = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{head}</title></head><body><h1>{head}</h1><p>{words}</p></body></html>\n"
    )
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
    }
    return HookReply(page.status, html.encode(), headers)
