"""How a support inbox is set up, in a few lines for an operator. Pure."""

from __future__ import annotations

from channels.email.settings import EmailSettings
from channels.email.ways.account import Account
from channels.email.ways.taking import plain
from gateway.engine.kinds import JsonObject, Millis

__all__ = ["ELSEWHERE", "standing"]

ELSEWHERE = "another host reads it now, or none does yet"


def standing(
    settings: EmailSettings, account: Account | None, *, reads: bool, heard_at: Millis | None
) -> list[JsonObject]:
    """``name`` and ``told`` of each, and ``at``: when that was last so."""
    lines: list[JsonObject] = [_line("address", settings.address)]
    if account is not None:
        where = f"{plain(account.folder)} of {plain(account.name)}"
        who = "this host reads it" if reads else ELSEWHERE
        lines.append(_line("mailbox", f"{where} · {who}", heard_at))
    if settings.listen is not None:
        lines.append(_line("listens", settings.listen))
    if hooks := _hooks(settings):
        lines.append(_line("webhooks", hooks))
    lines.append(_line("believes", _believes(settings)))
    return lines


def _line(name: str, told: str, at: Millis | None = None) -> JsonObject:
    return {"name": name, "told": told, "at": at}


def _hooks(settings: EmailSettings) -> str:
    hooks = settings.hooks
    known = {
        "postmark": hooks.postmark,
        "sendgrid": hooks.sendgrid,
        "mailgun": hooks.mailgun,
        "resend": hooks.resend,
        "ses": hooks.ses_topic,
    }
    return ", ".join(name for name, proof in known.items() if proof)


def _believes(settings: EmailSettings) -> str:
    """Each way by itself: nobody's word counts for what comes by another."""
    told: list[str] = []
    if settings.imap_url is not None:
        told.append(_border(settings.border_host, settings.authserv_id, "EMAIL_"))
    if settings.listen is not None:
        host, server = settings.listen_border_host, settings.listen_authserv_id
        told.append(f"of what is handed over {_border(host, server, 'EMAIL_LISTEN_')}")
    if _hooks(settings):
        told.append("of webhooks nobody's lines")
    if settings.vouching:
        told.append(f"{', '.join(sorted(settings.vouching))} for their people")
    return "; ".join(told)


def _border(host: str | None, server: str | None, names: str) -> str:
    if host is None:
        return f"nobody: set {names}BORDER_HOST, and {names}AUTHSERV_ID where it writes one"
    return f"what {host} wrote" + (f" as {server}" if server not in {None, host} else "")
