"""Text as PostgreSQL takes it.

PostgreSQL's ``text`` holds every character but NUL. JSON bodies never carry one (it is written as
six characters there), but a model's plain reply may: it is kept by writing NUL as U+FDD0 ``0`` and
U+FDD0 itself twice. U+FDD0 is a code point that Unicode gives to nobody, so all other text is stored
as it is. Keys that callers choose are refused instead: two spellings of one key would be a trap.
"""

from __future__ import annotations

from gateway.engine.errors import InvalidInputError

NUL = "\0"
MARK = "\ufdd0"


def storable(text: str) -> str:
    if NUL in text or MARK in text:
        return text.replace(MARK, MARK + MARK).replace(NUL, MARK + "0")
    return text


def optional(text: str | None) -> str | None:
    return None if text is None else storable(text)


def restored(text: str) -> str:
    if MARK not in text:
        return text
    return MARK.join(part.replace(MARK + "0", NUL) for part in text.split(MARK + MARK))


def key(text: str, what: str) -> str:
    """A caller's key as it is stored, refused where PostgreSQL can't hold it exactly."""
    if NUL in text:
        raise InvalidInputError(f"{what} holds a NUL character", fix="leave it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInputError(
                f"{what} holds half a surrogate pair", fix="send well-formed Unicode"
            ) from None
    return storable(text)
