"""A mail that was read, and what the books say of it, becomes a message or nothing. Pure."""

from __future__ import annotations

from channels.contract import Ignored, Inbound, Parsed, Place, Word
from channels.email.mail import Attachment, Attestation, Mail
from channels.email.policy import EmailRules, budgets
from channels.email.reading.automated import Noise
from channels.email.reading.reply import Extract
from channels.email.threads import places
from channels.email.threads.conversation import Joined
from gateway.engine.kinds import Json, JsonObject, Millis, Speaker
from gateway.engine.struct import struct

__all__ = ["Opened", "parse"]

MOST_TEXT = 100_000
MOST_HISTORY = 20_000
"""Characters of a mail, and of what it quotes, that the agent reads."""
MOST_SUBJECT = 300
MOST_FILES, MOST_NOTES = 100, 20
"""Of what is listed: thousands of parts make a mail that no turn may begin with."""
TAKEN_OVER = "taken-over"
STRANGER = "stranger"
UNREADABLE_AUTHOR = "unreadable-author"
UNATTESTED = "unattested"


@struct(frozen=True, slots=True, kw_only=True)
class Opened:
    """All that is known of a mail by itself. ``content`` is its id, ``copy`` what it shares with copies of it,
    ``way_key`` a key that its way may be used once with. ``named``: to whom it came, as far as anybody
    says."""

    content: str
    mailbox: str
    mail: Mail
    attestation: Attestation
    extract: Extract
    noise: Noise | None = None
    copy: str = ""
    way_key: str = ""
    named: tuple[str, ...] = ()
    at: Millis


def parse(
    opened: Opened,
    joined: Joined,
    rules: EmailRules,
    *,
    admitted: bool = False,
) -> Parsed:
    """``admitted``: an operator let it in."""
    noise = opened.noise
    if noise is not None and not noise.reads:
        return in_place_of(opened, noise.word, noise.rule, noise.why)
    if opened.mail.over:
        said = f"I can't read your message: {opened.mail.over}. Please send it in a shorter form."
        return in_place_of(opened, "unsupported", "over-limit", opened.mail.over, say=said)
    doubt = "" if admitted else _doubt(opened, joined, rules)
    return _inbound(opened, joined, rules, doubt=doubt, admitted=admitted)


def in_place_of(
    opened: Opened, word: Word, rule: str, reason: str, *, say: str | None = None
) -> Ignored:
    known, author = opened.attestation, opened.attestation.author
    return Ignored(
        event_id=event_id(opened.content),
        verdict=word,
        rule=rule,
        reason=reason,
        place=places.mail(opened.mailbox, opened.content),
        speaker=None if author is None else f"email:{author.address}",
        say=say if _vouched(known) else None,  # else somebody may be told who never wrote
        reply=_target(opened, ""),
    )


def _vouched(known: Attestation) -> bool:
    """Also where nothing but its size speaks against the author of a mail."""
    return known.level != "none" or {word for word, _ in known.reasons} == {"too_big"}


def event_id(content: str) -> str:
    return f"mail-{content}"


def _doubt(opened: Opened, joined: Joined, rules: EmailRules) -> str:
    known = opened.attestation
    if known.author is None:
        return UNREADABLE_AUTHOR
    if joined.how == "stranger":
        return STRANGER
    if joined.taken_over:
        return TAKEN_OVER
    if known.level == "none" and (known.disowned or rules.unattested == "hold"):
        return UNATTESTED
    return ""


def _inbound(
    opened: Opened, joined: Joined, rules: EmailRules, *, doubt: str, admitted: bool
) -> Inbound:
    here = joined.conversation
    known, mail, author = opened.attestation, opened.mail, opened.attestation.author
    address = author.address if author is not None else ""
    post = places.mail(opened.mailbox, opened.content)
    copy = places.copy(opened.mailbox, opened.copy) if opened.copy else ""
    vouched = known.level != "none" or joined.how == "known"
    spends = (
        budgets(
            rules,
            opened.mailbox,
            here,
            address,
            opened.extract.new,
            vouched=vouched,
            begins=joined.how != "known",
        )
        if address and not admitted
        else ()
    )
    kept: JsonObject | None = None
    if mail.attachments:
        files: list[Json] = [_file(one) for one in mail.attachments[:MOST_FILES]]
        kept = {"content": opened.content, "files": files}
    return Inbound(
        event_id=event_id(opened.content),
        keys=(post, *(key for key in (copy, opened.way_key) if key)),
        post=post,
        turn_id=post,
        place=Place(key=post, session=joined.session),
        addressed="direct",
        author="person",
        speaker=Speaker(
            id=f"email:{address or 'unknown'}",
            name=known.shown if author is None else author.display,
            tenant="" if author is None else author.domain,
            level=known.level,
        ),
        text=_words(opened, joined),
        places=(places.message(opened.mailbox, mail.message_id),) if mail.message_id else (),
        budgets=spends,
        doubt=doubt,
        event=_event(opened, joined, here),
        # Whoever lets it in has it answered, also where a colleague speaks by now.
        target=_target(opened, here) | ({"despite": joined.times} if admitted else {}),
        fetch=kept,
    )


# -- what it says --------------------------------------------------------------------------------------
def _words(opened: Opened, joined: Joined) -> str:
    """What the agent reads. The rest of a conversation it knows is in its transcript already."""
    mail, extract = opened.mail, opened.extract
    parts = [f"Subject: {_subject(opened)}", _cut(extract.new, MOST_TEXT)]
    if joined.how != "known" and extract.rest.strip():
        parts += ["Quoted below it:", _cut(extract.rest, MOST_HISTORY)]
    if mail.attachments:
        more = len(mail.attachments) - MOST_FILES
        listed = [_listed(one) for one in mail.attachments[:MOST_FILES]]
        parts.append("\n".join(["Attached:", *listed, *([f"- and {more} more"] * (more > 0))]))
    parts += mail.notes[:MOST_NOTES]
    if mail.hidden.strip():
        parts.append(
            "(The mail also holds text that its reader wouldn't see. It is left out here.)"
        )
    return "\n\n".join(part for part in parts if part)


def _cut(text: str, most: int) -> str:
    """Nobody takes the beginning of a text for the whole of it."""
    text = text.strip()
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}\n\n({left} more characters are left out here.)"


def _listed(file: Attachment) -> str:
    about = f"- {file.name or 'a part without a name'} ({file.media_type}, {file.size} bytes)"
    return f"{about}: {file.unread}" if file.unread else about


def _file(file: Attachment) -> Json:
    return [file.path, file.name, file.media_type, file.size, file.unread]


def _subject(opened: Opened) -> str:
    return " ".join(opened.mail.subject.split())[:MOST_SUBJECT] or "(none)"


# -- what is kept of it --------------------------------------------------------------------------------
def _event(opened: Opened, joined: Joined, conversation: str) -> JsonObject:
    known, mail = opened.attestation, opened.mail
    event: JsonObject = {
        "type": "mail",
        "mail": opened.content,
        "from": known.shown,
        "subject": _subject(opened),
        "date": mail.date,
        "conversation": conversation,
        "standing": [places.STANDING, places.standing(opened.mailbox, conversation)],
        "attestation": {
            "level": known.level,
            "method": known.method,
            "by": known.by,
            "reasons": [[word, why] for word, why in known.reasons],
        },
    }
    if joined.link and joined.link != conversation:
        event["link"] = joined.link
    return event


def _target(opened: Opened, conversation: str) -> JsonObject:
    """Where the answer goes: to the author, below their mail."""
    author, mail = opened.attestation.author, opened.mail
    target: JsonObject = {
        "source": "email",
        "address": author.address if author is not None else "",
        "conversation": conversation,
        "subject": _subject(opened),
        "in_reply_to": mail.message_id,
        "references": [*mail.references],
        "lane": f"email:{opened.mailbox}:{conversation}",
    }
    if opened.noise is not None:
        target["never"] = True  # a machine's mail that is read and not answered
    return target
