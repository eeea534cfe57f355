"""The door: a mail's bytes in, what a person reads of it out."""

from __future__ import annotations

from collections.abc import Collection

from channels.email.mail import Mail
from channels.email.mime import headers
from channels.email.mime.body import Body, compose
from channels.email.mime.headers import Header
from channels.email.mime.limits import RAW, TEXT, OverLimitError
from channels.email.mime.parts import leaves, walk
from gateway.engine.struct import replace

_BETWEEN = "\n\n"


def read(raw: bytes) -> Mail:
    """Any bytes are a mail. One beyond a limit has its header's values and ``over``; the rest is empty."""
    head = headers.header(raw)
    mail = _headed(head)
    if head.over or len(raw) > RAW:
        return replace(mail, over=head.over or f"more than {RAW >> 20} MiB")
    try:
        return _with_body(mail, compose(walk(raw)))
    except OverLimitError as over:
        return replace(mail, over=str(over))


def contents(raw: bytes, paths: Collection[str]) -> dict[str, bytes]:
    """The bytes of the attachments with these paths, as far as there are such, their transfer encoding undone."""
    if len(raw) > RAW:
        return {}
    try:
        parts = leaves(walk(raw))
    except OverLimitError:
        return {}
    return {part.path: part.content() for part in parts if part.path in paths}


def _headed(head: Header) -> Mail:
    message_ids = headers.ids(head.first("message-id"))
    return Mail(
        fields=head.fields,
        subject=headers.decoded(head.first("subject")),
        message_id=message_ids[0] if message_ids else "",
        in_reply_to=headers.ids(head.first("in-reply-to")),
        references=headers.ids(head.first("references")),
        date=headers.date(head.first("date")),
    )


def _with_body(mail: Mail, body: Body) -> Mail:
    text = ""
    quote_at: int | None = None
    for each in body.texts:
        if not each.text:
            continue
        text += _BETWEEN if text else ""
        if quote_at is None and each.quote_at is not None:
            quote_at = len(text) + each.quote_at
        text += each.text
    if len(text.encode()) > TEXT:
        raise OverLimitError(f"more than {TEXT} bytes of text")
    return replace(
        mail,
        text=text,
        quote_at=quote_at,
        hidden="\n".join(each.hidden for each in body.texts if each.hidden),
        html=any(each.html for each in body.texts if each.text),
        forwarded=body.forwarded,
        attachments=tuple(body.attachments),
        notes=tuple(body.notes),
        decoded=tuple(dict.fromkeys(each.decoded for each in body.texts if each.decoded)),
    )
