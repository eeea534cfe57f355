"""Kinds of parts, each with an outcome of its own: invitations, forwarded mail, what is sealed or unreadable."""

from __future__ import annotations

from tests.unit.email.corpus.build import (
    Expected,
    Made,
    b64,
    file,
    html,
    mail,
    multipart,
    part,
    table,
    text,
    typed,
)

KINDS, case = table()
CALENDAR = (
    "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VTIMEZONE\nDTSTART:19700101T000000\nEND:VTIMEZONE\n"
    "BEGIN:VEVENT\nSUMMARY:Call about\n  order 1042\\, please\nDTSTART;TZID=Europe/Berlin:20270301T100000\n"
    "DTEND;TZID=Europe/Berlin:20270301T103000\nLOCATION:Room 2\nEND:VEVENT\nEND:VCALENDAR\n"
)
INVITED = (
    "Invitation: Call about order 1042, please,"
    " 2027-03-01 10:00 (Europe/Berlin) to 10:30 (Europe/Berlin), Room 2"
)


@case
def invitation_alone() -> Made:
    return typed("text/calendar; method=REQUEST", CALENDAR), Expected(text=INVITED, files=())


@case
def invitation_beside_text() -> Made:
    raw = multipart(
        "alternative",
        text("Please come."),
        html("<p>Please come.</p>"),
        part("text/calendar", CALENDAR),
    )
    return raw, Expected(text=f"Please come.\n\n{INVITED}")


@case
def invitation_cancelled() -> Made:
    gone = CALENDAR.replace("REQUEST", "CANCEL")
    return typed("text/calendar", gone), Expected(has=("Cancelled event: Call",))


@case
def invitation_answered() -> Made:
    said = (
        "BEGIN:VCALENDAR\nMETHOD:REPLY\nBEGIN:VEVENT\nSUMMARY:Call\nDTSTART:20270301\n"
        'ATTENDEE;CN="a:b";PARTSTAT=ACCEPTED:mailto:a@b.example\nEND:VEVENT\nEND:VCALENDAR\n'
    )
    return typed("text/calendar", said), Expected(
        text="Answer to an invitation: Call, 2027-03-01, accepted"
    )


@case
def invitation_that_is_none() -> Made:
    return typed("text/calendar", "hello"), Expected(text="", files=("part-1.ics",))


@case
def forwarded_as_a_part() -> Made:
    whole = part("message/rfc822", mail("", "the old text"))
    return multipart("mixed", text("see below"), whole), Expected(
        has=(
            "see below",
            "From: Ada <ada@customer.example>",
            "Subject: Order 1042",
            "the old text",
        ),
        forwarded=True,
    )


@case
def forwarded_alone() -> Made:
    return typed("message/rfc822", mail("", "the old text")), Expected(
        has=("the old text",), forwarded=True
    )


@case
def forwarded_in_base64() -> Made:
    whole = part("message/rfc822", b64(mail("", "old text")), "Content-Transfer-Encoding: base64\n")
    return multipart("mixed", text("new"), whole), Expected(has=("new", "old text"), forwarded=True)


@case
def forwarded_with_file() -> Made:
    whole = part("message/rfc822", multipart("mixed", text("old"), file("a.pdf"), boundary="in"))
    return multipart("mixed", text("new"), whole), Expected(has=("old",), files=("a.pdf",))


@case
def forwarded_digest() -> Made:
    return multipart("digest", b"\r\n" + mail("", "one"), b"\r\n" + mail("", "two")), Expected(
        has=("one", "two"), forwarded=True
    )


@case
def enriched() -> Made:
    body = "<bold>Hi</bold> <<there\nyou\n\nend<param>red</param>"
    return typed("text/enriched", body), Expected(text="Hi <there you\n\nend")


@case
def markdown() -> Made:
    return typed("text/markdown", "# Hi"), Expected(text="# Hi")


@case
def unknown_text() -> Made:
    return typed("text/x-foo", "hi"), Expected(text="hi")


@case
def unknown_type() -> Made:
    return typed("x-foo/bar", "hi"), Expected(text="", files=("part-1",))


@case
def table_of_numbers() -> Made:
    return multipart("mixed", text("see"), part("text/csv", "a,b")), Expected(
        text="see", files=("part-2.csv",)
    )


@case
def smime_opaque() -> Made:
    raw = typed('application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"', b64(b"x"))
    return raw, Expected(text="", notes=("S/MIME signature",), unread=("smime.p7m",))


@case
def smime_encrypted() -> Made:
    raw = typed("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", b64(b"x"))
    return raw, Expected(text="", notes=("encrypted",))


@case
def smime_signed() -> Made:
    seal = part("application/pkcs7-signature; name=smime.p7s", b64(b"x"))
    return multipart("signed", text("hi"), seal), Expected(text="hi", files=(), notes=())


@case
def pgp_signed() -> Made:
    seal = part("application/pgp-signature; name=signature.asc", "x")
    return multipart("signed", text("hi"), seal), Expected(text="hi", files=())


@case
def pgp_encrypted() -> Made:
    raw = multipart(
        "encrypted",
        part("application/pgp-encrypted", "Version: 1"),
        part("application/octet-stream", "x"),
    )
    return raw, Expected(text="", notes=("encrypted",), files=())


@case
def pgp_inline_signed() -> Made:
    body = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nhello\n- -----\n"
        "-----BEGIN PGP SIGNATURE-----\nabc\n-----END PGP SIGNATURE-----\nafter\n"
    )
    return mail("", body), Expected(text="hello\n-----\nafter")


@case
def pgp_inline_encrypted() -> Made:
    body = "hi\n-----BEGIN PGP MESSAGE-----\n\nabc\n-----END PGP MESSAGE-----\nbye\n"
    return mail("", body), Expected(text="hi\nbye", notes=("encrypted",))


@case
def outlook_format() -> Made:
    tnef = part("application/ms-tnef; name=winmail.dat", b64(b"\x78\x9f\x3e\x22"))
    return multipart("mixed", text(""), tnef), Expected(
        text="", notes=("winmail.dat",), unread=("winmail.dat",)
    )


@case
def kept_elsewhere() -> Made:
    raw = typed('message/external-body; access-type=URL; URL="http://x.example/"', "x")
    return raw, Expected(text="", unread=("part-1",))


@case
def one_of_several_pieces() -> Made:
    return typed("message/partial; number=1; total=3; id=x", "x"), Expected(
        notes=("several mails",)
    )
