"""Ids and addresses of ours that come back: which conversation a mail belongs to, unforgeable.

All of them are lower-case base32, because mail servers fold the case of local parts (RFC 5321, section
2.4, leaves it to them), and are signed by a key derived for this purpose alone. A token gives threading
and no authority: whoever was forwarded a mail has it, too.

- A Message-ID is ``<conversation 16><mail 7><signature 11><key 2>@domain``. It is the same whenever the
  same part of a turn is written, so that a mail sent twice is recognisably one.
- Its *twin* says the same under another signature. It goes first into ``References``: some relays replace
  a Message-ID, and a mail that names itself there breaks the threads of readers that follow RFC 5256.
- An address is ``name+<conversation 16>.<signature 16>.<key 2>``, for bounces with the delivery's number
  behind it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence

from channels.email.writing.addresses import MOST_ADDRESS, MOST_LOCAL, is_host, problem
from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct

__all__ = [
    "MOST_ID",
    "MOST_MAILBOX",
    "Keys",
    "Ours",
    "bounce_address",
    "bounced",
    "bounces_there",
    "conversation_id",
    "holder",
    "holds",
    "is_conversation",
    "is_loop_mark",
    "loop_mark",
    "marks",
    "message_id",
    "original",
    "reply_to",
    "threads",
    "twin",
]

MOST_ID = 60
"""Characters of an id of ours, brackets included. From some 75 on, mail programs write them as encoded
words when they answer, and the thread is lost."""
MOST_MAILBOX = 17
"""Characters before the ``@`` of a mailbox, for all that is put behind its ``+`` to fit."""

_DIGITS = "abcdefghijklmnopqrstuvwxyz234567"
_ALPHABET = frozenset(_DIGITS)
_CONVERSATION, _MAIL, _SIGNED, _KEY = 16, 7, 11, 2
_LOCAL = _CONVERSATION + _MAIL + _SIGNED + _KEY
_MAC = 16  # 80 bits
_MOST_DOMAIN = MOST_ID - _LOCAL - len("<@>")
_NAMELESS = "june.invalid"
_LEAST_SECRET = 16
_MOST_DELIVERY = 1 << 45  # nine digits


class Keys:
    """``secrets`` in order: the first signs, all verify. Each serves other purposes, too: what signs here
    is derived from it."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        if not secrets or any(len(secret) < _LEAST_SECRET for secret in secrets):
            raise ConfigError(
                f"signing mail takes at least one key, each of {_LEAST_SECRET} bytes or more",
                fix="set GATEWAY_SECRET_KEYS to the output of `openssl rand -hex 32`",
            )
        self._keys = tuple(hmac.digest(secret, b"channels/email/1", "sha256") for secret in secrets)
        self._ids = tuple(_base32(hmac.digest(key, b"id", "sha256"))[:_KEY] for key in self._keys)

    def sign(self, purpose: str, length: int, *about: str, by: int = 0) -> tuple[str, str]:
        """A signature and the id of the key that made it."""
        return _signature(self._keys[by], purpose, length, self._ids[by], about), self._ids[by]

    def signer(self, signature: str, key_id: str, purpose: str, *about: str) -> int | None:
        """The number of the key that made a signature. Every key is tried, whichever fits: the time taken
        tells nothing about them."""
        fits = [
            (known == key_id)
            & hmac.compare_digest(
                _signature(key, purpose, len(signature), key_id, about), signature
            )
            for key, known in zip(self._keys, self._ids, strict=True)
        ]
        return fits.index(True) if True in fits else None

    def known(self, key_id: str) -> bool:
        return key_id in self._ids


# -- conversations -----------------------------------------------------------------------------------
def conversation_id(keys: Keys, opening: str) -> str:
    """The id of the conversation that a mail opens. ``opening`` names that mail; handed over twice it
    opens one, and nobody can work out an id without the key."""
    return keys.sign("conversation", _CONVERSATION, opening)[0]


def is_conversation(text: str) -> bool:
    return len(text) == _CONVERSATION and _ALPHABET.issuperset(text)


# -- Message-IDs -------------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Ours:
    """An id that we made. ``message_id`` is the one its mail was given, also where the twin was read."""

    conversation: str
    message_id: str


def message_id(keys: Keys, session: str, turn_id: str, part: int, domain: str) -> str:
    """The id of one part of a turn. ``session`` is ``email:<mailbox>:<conversation>``."""
    conversation = session.rpartition(":")[2]
    if not is_conversation(conversation):
        raise ValueError("a session's key must end with a conversation's id")
    told = hashlib.sha256("\0".join((session, turn_id, str(part))).encode()).digest()
    return _id(keys, 0, "message-id", (conversation, _base32(told)[:_MAIL], _right(domain)))


def twin(keys: Keys, message_id: str) -> str:
    """The second id of a mail of ours, for its ``References``. Raises ``ValueError`` for another's."""
    read = _read(message_id)
    if read is None or (by := _signer(keys, read, "message-id")) is None:
        raise ValueError("only an id of ours has a twin")
    return _id(keys, by, "twin", read.about)


def original(keys: Keys, given: str) -> Ours | None:
    """Whose id it is: that of a mail of ours or its twin, in any case; ``None`` for everybody else's."""
    if (read := _read(given)) is None:
        return None
    for purpose in ("message-id", "twin"):
        if (by := _signer(keys, read, purpose)) is not None:
            return Ours(read.about[0], _id(keys, by, "message-id", read.about))
    return None


@struct(frozen=True, slots=True)
class _Read:
    about: tuple[str, str, str]
    """Conversation, mail, domain: what is signed."""
    signed: str
    key: str


def _read(given: str) -> _Read | None:
    if len(given) > MOST_ID or not given.isascii() or given[:1] + given[-1:] != "<>":
        return None
    local, _, right = given[1:-1].lower().partition("@")
    if len(local) != _LOCAL or not _ALPHABET.issuperset(local) or not is_host(right):
        return None
    mail, signed, key = _CONVERSATION, _CONVERSATION + _MAIL, _LOCAL - _KEY
    return _Read((local[:mail], local[mail:signed], right), local[signed:key], local[key:])


def _signer(keys: Keys, read: _Read, purpose: str) -> int | None:
    return keys.signer(read.signed, read.key, purpose, *read.about)


def _id(keys: Keys, by: int, purpose: str, about: tuple[str, str, str]) -> str:
    conversation, mail, right = about
    signed, key = keys.sign(purpose, _SIGNED, *about, by=by)
    return f"<{conversation}{mail}{signed}{key}@{right}>"


def _right(domain: str) -> str:
    """As much of a domain, from its end, as fits. It need not be a host's (RFC 5322, section 3.6.4)."""
    right = domain.lower()
    if not is_host(right):
        raise ValueError("an id's domain must be a host's name")
    while len(right) > _MOST_DOMAIN:
        right = right.partition(".")[2] or _NAMELESS
    return right


# -- addresses ---------------------------------------------------------------------------------------
def reply_to(keys: Keys, mailbox: str, conversation: str, recipient: str) -> str:
    """Where this recipient's answers in this conversation go."""
    signed, key = keys.sign("reply", _MAC, conversation, recipient.lower())
    return _behind(mailbox, conversation, f"{conversation}.{signed}.{key}")


def threads(keys: Keys, address: str) -> str | None:
    """The conversation that an address says it belongs to. The signature covers a recipient as well, so
    nothing is proven before ``holds`` or ``holder`` says so."""
    token = _token(address)
    return token[0] if len(token) == 3 and keys.known(token[2]) else None


def holds(keys: Keys, address: str, recipient: str) -> bool:
    """Whether we gave this address to this recipient."""
    if len(token := _token(address)) != 3 or not recipient.isascii():
        return False
    conversation, signed, key = token
    return keys.signer(signed, key, "reply", conversation, recipient.lower()) is not None


def holder(keys: Keys, address: str, recipients: Iterable[str]) -> str | None:
    """To whom of them we gave this address."""
    held = [recipient for recipient in recipients if holds(keys, address, recipient)]
    return held[0] if held else None


def bounce_address(keys: Keys, mailbox: str, conversation: str, delivery: int) -> str:
    """The envelope's sender for one delivery."""
    number = _number(delivery)
    signed, key = keys.sign("bounce", _MAC, conversation, number)
    return _behind(mailbox, conversation, f"{conversation}.{signed}.{key}.{number}")


def bounces_there(address: str) -> bool:
    """Whether an address has the shape of one for bounces. Proves nothing."""
    return len(_token(address)) == 4


def bounced(keys: Keys, address: str) -> tuple[str, int] | None:
    """The conversation and the delivery that a bounce to this address is about."""
    if len(token := _token(address)) != 4:
        return None
    conversation, signed, key, number = token
    if keys.signer(signed, key, "bounce", conversation, number) is None:
        return None
    return conversation, _counted(number)


# -- loops -------------------------------------------------------------------------------------------
def loop_mark(keys: Keys, conversation: str) -> str:
    """What a letter of ours is known by when it comes back under another id and address."""
    signed, key = keys.sign("loop", _MAC, conversation)
    return f"{conversation}.{signed}.{key}"


def is_loop_mark(keys: Keys, given: str) -> bool:
    token = given.strip().split(".") if given.isascii() else []
    if [*map(len, token)] != [_CONVERSATION, _MAC, _KEY]:
        return False
    conversation, signed, key = token
    return keys.signer(signed, key, "loop", conversation) is not None


def marks(keys: Keys, given: str, conversation: str) -> bool:
    """Whether it is the mark that our letters of this conversation have."""
    return is_loop_mark(keys, given) and given.strip().partition(".")[0] == conversation


def _behind(mailbox: str, conversation: str, token: str) -> str:
    if not is_conversation(conversation):
        raise ValueError("a conversation's id is 16 characters of lower-case base32")
    local, _, domain = mailbox.rpartition("@")
    address = f"{local}+{token}@{domain}"
    if len(local) + 1 + len(token) > MOST_LOCAL:
        raise ConfigError(
            f"a mailbox's name may have {MOST_MAILBOX} characters before its @, and this has {len(local)}",
            fix="give June a mailbox with a shorter name",
        )
    if why := problem(address):
        raise ConfigError(f"the mailbox can't be written to: {why}", fix="set EMAIL_ADDRESS")
    return address


def _token(address: str) -> tuple[str, ...]:
    """The pieces behind an address's last plus, none if they don't have the shape of a token."""
    if len(address) > MOST_ADDRESS or not address.isascii():
        return ()  # also of a letter that only becomes ASCII in lower case
    pieces = tuple(address.lower().rpartition("@")[0].rpartition("+")[2].split("."))
    lengths = (_CONVERSATION, _MAC, _KEY)
    fits = tuple(map(len, pieces[:3])) == lengths and len(pieces) <= 4
    return pieces if fits and all(each and _ALPHABET.issuperset(each) for each in pieces) else ()


# -- base32 ------------------------------------------------------------------------------------------
def _signature(key: bytes, purpose: str, length: int, key_id: str, about: Sequence[str]) -> str:
    signed = "\0".join((purpose, key_id, *about)).encode()
    return _base32(hmac.digest(key, signed, "sha256"))[:length]


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode().lower()


def _number(given: int) -> str:
    if not 0 <= given < _MOST_DELIVERY:
        raise ValueError("a delivery's number must be from 0, and below 2 to the 45")
    told = _DIGITS[given % 32]
    while given := given // 32:
        told = _DIGITS[given % 32] + told
    return told


def _counted(told: str) -> int:
    number = 0
    for digit in told:
        number = number * 32 + _DIGITS.index(digit)
    return number
