"""What a setting's text means: parsers that say what would be right, secrets that don't print.

A parser raises ``ValueError`` with a sentence that fits behind the setting's name, and never repeats
the value: it may be a secret.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast, get_args
from urllib.parse import SplitResult, parse_qsl, urlsplit

from typing_extensions import override

T = TypeVar("T")
Right = Literal["chat", "read", "resume", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
TOKEN_LENGTH = 16


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that is never printed by accident."""

    value: str

    @override
    def __repr__(self) -> str:
        return "Secret(***)"

    def matches(self, given: str) -> bool:
        """Nothing matches an empty one: whoever sends nothing would hold it."""
        return bool(self.value) and hmac.compare_digest(
            self.value.encode(), given.encode("utf-8", "surrogateescape")
        )


@dataclass(frozen=True, slots=True)
class ApiToken:
    """One bearer token: what it may do, whom its holder may vouch for (``""``: anyone)."""

    name: str
    secret: Secret
    rights: frozenset[Right] = frozenset({"admin"})
    identities: tuple[str, ...] = ("",)
    proves: bool = False
    """Holding it proves those identities themselves (the CLI's token, which only the user who runs
    the host can read); otherwise its holder asserts them, and that is stored with them."""

    def may(self, right: Right) -> bool:
        return right in self.rights or "admin" in self.rights

    def vouches_for(self, identity: str) -> bool:
        """A prefix ends where a part of the identity ends: ``slack:T1`` isn't ``slack:T12:U1``."""
        return any(
            not prefix or identity == prefix or identity.startswith(prefix.rstrip(":") + ":")
            for prefix in self.identities
        )


# -- from text -------------------------------------------------------------------------------------
def is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
    # ::ffff:127.0.0.1 is how a socket for both families names a peer on IPv4.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def text(raw: str) -> str:
    return raw


def secret(raw: str) -> Secret:
    if not raw.isascii() or not raw.isprintable() or " " in raw:
        raise ValueError("must be printable ASCII without spaces")
    return Secret(raw)


def token(raw: str) -> Secret:
    """A bearer token: who guesses it holds it, so it may not be short."""
    found = secret(raw)
    if len(found.value) < TOKEN_LENGTH:
        raise ValueError(f"must have at least {TOKEN_LENGTH} characters (openssl rand -hex 24)")
    return found


def secret_file(name: str) -> str:
    try:
        found = path(name).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"names a file that can't be read: {error}") from error
    if not found:
        raise ValueError(f"names a file that is empty: {name}")
    return found


def secrets(raw: str) -> tuple[Secret, ...]:
    keys = tuple(secret(part) for part in words(raw))
    if any(len(key.value) < 32 for key in keys):
        raise ValueError("each key must have at least 32 characters (openssl rand -hex 32)")
    return keys


def words(raw: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in raw.split(",")) if part)


def path(raw: str) -> Path:
    if "\0" in raw:
        raise ValueError("can't be a path: it holds a NUL")
    try:
        return Path(raw).expanduser()
    except RuntimeError:
        raise ValueError("names a home directory that isn't there; write the whole path") from None


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", raw) or not low <= int(raw) <= (high or int(raw)):
            raise ValueError(f"must be a whole number from {low}" + (f" to {high}" if high else ""))
        return int(raw)

    return parse


MANY: float = 1000
"""How many sessions' actors are kept by default. A whole number or infinity, as ``cap`` reads it."""


def cap(raw: str) -> float:
    if raw.lower() in {"inf", "infinity"}:
        return math.inf
    try:
        return whole(1)(raw)
    except ValueError:
        raise ValueError("must be a whole number from 1, or infinity") from None


def duration(raw: str) -> float:
    """``90``, ``90s``, ``5m``, ``1h``, ``2d`` in seconds."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*([smhd]?)", raw)
    if not found or not float(found[1]):
        raise ValueError("must be a duration above 0 such as 90s, 5m or 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]


def url(*schemes: str) -> Callable[[str], str]:
    """A URL of one of these schemes. Plain mail protocols are for this machine only: a password
    and other people's mail would cross the network in the clear."""

    def parse(raw: str) -> str:
        parts = _split(raw)
        # Python reads over line breaks; what is sent or printed later would not.
        if not raw.isprintable() or (" " in raw and parts.scheme != "sqlite"):
            raise ValueError("must hold no spaces, line breaks or the like; a space is written %20")
        if parts.scheme not in schemes:
            raise ValueError(
                "must be a URL that begins with " + " or ".join(f"{s}://" for s in schemes)
            )
        if parts.scheme not in {"sqlite", "memory"} and not parts.hostname:
            raise ValueError("must name a host")
        if parts.scheme in {"smtp", "imap"} and not is_loopback(parts.hostname or ""):
            raise ValueError(f"{parts.scheme}:// is for loopback only; use {parts.scheme}s://")
        return raw

    return parse


def _split(raw: str) -> SplitResult:
    """The parts of a URL. What Python says about a broken one may quote its password."""
    try:
        parts = urlsplit(raw)
        _ = parts.port
    except ValueError:
        raise ValueError(
            "is no URL: its port must be a number, and / ? # @ : in a password are written"
            " %2F %3F %23 %40 %3A"
        ) from None
    return parts


def urls(*schemes: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        return ",".join(map(url(*schemes), words(raw)))

    return parse


def base_url(raw: str) -> str:
    if "?" in raw or "#" in raw:
        raise ValueError("must have no query and no fragment")
    return url("https", "http")(raw).rstrip("/")


def public_url(raw: str) -> str:
    """An address for people: it stands in links, so nobody's login may be in it."""
    found = base_url(raw)
    if '"' in found or "<" in found or _split(found).netloc.rpartition("@")[1]:
        raise ValueError("must be an address as people open it, without a login")
    return found


TAKEN = frozenset(
    {
        "agents",
        "approvals",
        "audit",
        "channels",
        "console",
        "console.json",
        "conversations",
        "deliveries",
        "healthz",
        "mail",
        "metrics",
        "openapi.json",
        "playground",
        "readyz",
        "schedules",
        "sessions",
        "status",
        "turns",
        "verdicts",
    }
)
"""How the paths of the host's other routes begin."""


def chat_path(raw: str) -> str:
    if not re.fullmatch(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+", raw):
        raise ValueError("must be a path such as /message")
    if raw.split("/")[1] in TAKEN:
        raise ValueError("is taken by another route")
    return raw


def networks(raw: str) -> tuple[str, ...]:
    return tuple(str(ipaddress.ip_network(part)) for part in words(raw))


def issuer(raw: str) -> str:
    """The name of an OpenID provider, letter by letter as it calls itself: also a last slash counts."""
    plain = base_url(raw).startswith("http://")
    if plain and not is_loopback(_split(raw).hostname or ""):
        raise ValueError("must begin with https://; http:// is for loopback only")
    return raw


def roles(raw: str) -> tuple[str, ...]:
    """``admins=admin, support=operator``; ``*`` is everybody whom the provider lets in."""
    pairs = words(raw)
    for pair in pairs:
        value, _, role = pair.rpartition("=")
        if not value or role not in {"viewer", "operator", "admin"}:
            raise ValueError(
                "must be pairs such as admins=admin, support=operator or *=viewer"
                " (roles: viewer, operator, admin)"
            )
    return pairs


# -- from TOML -------------------------------------------------------------------------------------
def flat(value: object) -> str | None:
    """A TOML value as the text its variable would hold."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    items = strings(value)
    return None if items is None else ",".join(items)


def strings(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return [str(item) for item in items] if all(isinstance(item, str) for item in items) else None


# -- one row of the reference -----------------------------------------------------------------------
Mask = Literal["no", "all", "password"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the reference: where a setting comes from and how it is read and shown."""

    field: str
    env: str
    parse: Callable[[str], object]
    mask: Mask

    @property
    def key(self) -> str:
        return self.env.removeprefix("GATEWAY_").lower()

    def hidden(self, value: object) -> list[str]:
        """The secrets in a value."""
        if self.mask == "password" and isinstance(value, str):
            return [found for url in value.split(",") for found in _passwords(url)]
        held = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        return [one.value for one in held if isinstance(one, Secret)]

    def show(self, value: object) -> str:
        if value is None or value in ((), ""):
            return ""
        if self.mask == "all":
            return "***"
        text = ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
        return without_passwords(text)  # also where none is meant to be: somebody wrote one there


_LOGIN = re.compile(
    r"(//[^\s/:@]*:)(?:(?:(?!,\w{1,20}://)[^\s/?#]){0,500}(?=@)"
    r"|(?!\d{1,5}\b)(?:(?!,\w{1,20}://)[^\s@]){0,500}(?=@))"
)
"""A password before the last ``@`` of an address; of each, where there are several. One that should
have been encoded and holds a ``/``, ``?`` or ``#`` ends at the first ``@``; a port is none. Bounded,
because lines of the log are searched too, and others may have written them."""
_QUERY_PASSWORD = re.compile(r"([?&](?:ssl)?password=)[^&#\s,]*", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """Any text, the passwords of the URLs in it left out."""
    if "//" in text and "@" in text:
        text = _LOGIN.sub(r"\1***", text)
    return _QUERY_PASSWORD.sub(r"\1***", text)


def _passwords(url: str) -> list[str]:
    parts = urlsplit(url)
    asked = [value for name, value in parse_qsl(parts.query) if name.lower().endswith("password")]
    return [found for found in (parts.password, *asked) if found]


def setting(env: str, parse: Callable[[str], T], default: T, mask: Mask = "no") -> T:
    """A field of ``Settings`` that comes from this variable."""
    return field(default=default, metadata={"row": (env, parse, mask)})


def needed(missing: Sequence[str]) -> str:
    """What ``Settings.missing`` found, as what somebody has to set: ``either A or B, and C``."""
    if len(missing) < 2 or not any(" or " in one for one in missing):
        return ", ".join(missing)
    told = [f"either {one}" if " or " in one else one for one in missing]
    return f"{', '.join(told[:-1])}, and {told[-1]}"
