"""Who a mail says sent it, read generously: what is compared here keeps mail from being answered, so a
spelling that the strict grammar of an identity refuses must be seen as well."""

from __future__ import annotations

from channels.email.identity.recipients import bare
from channels.email.mail import Field, Mail
from channels.email.mime import headers

__all__ = ["addresses", "is_mailer", "is_nobody", "is_role", "returns_nowhere", "senders"]

MOST = 20


def senders(mail: Mail) -> tuple[str, ...]:
    """The addresses of ``From`` and ``Sender``, in lower case."""
    fields = [*mail.all("from")[:MOST], *mail.all("sender")[:MOST]]
    found = (one for field in fields for one in addresses(field.value))
    return tuple(dict.fromkeys(found))


def addresses(value: bytes) -> tuple[str, ...]:
    """What stands in angle brackets, or every word with an ``@`` where there are none. Names in quotes and
    comments are nobody's address, whatever they say."""
    whole = value[:4_000].decode("latin-1")
    text = _unquoted(whole)
    if "@" not in text:  # a quote or bracket that is never closed
        text = whole
    inside = [piece.partition(">")[0] for piece in text.split("<")[1:]]
    words = inside if any("@" in one for one in inside) else _apart(text)
    found = ("".join(word.split()).lower() for word in words)
    return tuple(one for one in found if "@" in one.strip("@"))[:MOST]


def returns_nowhere(fields: tuple[Field, ...], envelope_from: str | None) -> bool:
    """Whether the return path is empty, as in RFC 5321 §4.5.5, or a mail server's own. The field counts where
    the way doesn't say."""
    path = envelope_from
    if path is None:
        found = (field.value for field in fields if field.name == "return-path")
        path = next((headers.decoded(value[:2_000]) for value in found), None)
    if path is None:
        return False
    path = path.strip().strip("<>").strip()
    return not path or is_mailer(path)


def is_mailer(address: str) -> bool:
    """Whether it is a mail server that speaks."""
    return _local(address) in {"mailerdaemon", "mailerdeamon", "mdaemon"}


def is_nobody(address: str) -> bool:
    """Whether by its name nobody reads it: mail servers, lists' own addresses (RFC 2142), no-reply."""
    return is_role(address) or any(word in _local(address) for word in _NO_REPLY)


def is_role(address: str) -> bool:
    """Whether it is that of a mail server or a list."""
    given = bare(address).rpartition("@")[0]
    return (
        is_mailer(address)
        or _local(address) in _NOBODY
        or given.startswith(("bounce", "owner-"))
        or given.endswith(("-request", "-owner", "-bounces", "-bounce"))
    )


_NOBODY = frozenset(
    {"postmaster", "autoreply", "autoresponder", "listserv", "majordomo", "mailman"}
)
_NO_REPLY = (
    "noreply",
    "donotreply",
    "noresponder",
    "nepasrepondre",
    "nichtantworten",
    "norespondere",
)


def _local(address: str) -> str:
    """Without the marks that it may be spelled with; all of a name that has no domain."""
    local, _, name = bare(address).rpartition("@")
    return (local or name).translate({ord(mark): None for mark in "-_."})


def _unquoted(text: str) -> str:
    """Without quoted names and comments; one that isn't closed reaches to the end of it."""
    out: list[str] = []
    quoted, depth, escaped = False, 0, False
    for letter in text:
        if escaped:
            escaped = False
        elif letter == "\\" and (quoted or depth):
            escaped = True
        elif letter == '"' and not depth:
            quoted = not quoted
        elif letter in "()" and not quoted:
            depth = max(0, depth + (1 if letter == "(" else -1))
        elif not quoted and not depth:
            out.append(letter)
    return "".join(out)


def _apart(text: str) -> list[str]:
    return text.translate({ord(mark): " " for mark in ",;:<>[]"}).split()
