"""Headers that stop, mislead or exhaust other programs."""

from __future__ import annotations

from tests.unit.email.corpus.build import HEAD, Expected, Made, crlf, mail, table, typed

HEADERS, case = table()
NOBODY = b"To: support@shop.example\r\n"


def _subject(value: bytes, expected: str) -> Made:
    return NOBODY + b"Subject:" + value + b"\r\n\r\nhello", Expected(subject=expected, text="hello")


@case
def ordinary() -> Made:
    return mail("", "Where is it?\n\nAda\n"), Expected(
        text="Where is it?\n\nAda",
        subject="Order 1042",
        message_id="<m1@customer.example>",
        date=1_803_891_600_000,
        notes=(),
        files=(),
    )


@case
def subject_in_two_words() -> Made:
    return _subject(b" =?utf-8?q?caf=C3?=\r\n =?utf-8?q?=A9_open?=", "café open")


@case
def subject_in_base64() -> Made:
    return _subject(b" =?UTF-8?B?44GT44KT44Gr44Gh44Gv?=", "こんにちは")


@case
def subject_of_two_charsets() -> Made:
    return _subject(b" =?iso-8859-1?q?caf=E9?= =?utf-8?q?_=E2=82=AC?=", "café €")


@case
def subject_with_language() -> Made:
    return _subject(b" =?utf-8*en?q?hi=21?=", "hi!")


@case
def subject_with_spaces_inside_a_word() -> Made:
    return _subject(b" =?utf-8?q?a b c?= d", "a b c d")


@case
def subject_word_beside_text() -> Made:
    return _subject(b" Re: =?utf-8?q?=C3=A9?=, again", "Re: é, again")


@case
def subject_half_a_word() -> Made:
    return _subject(b" =?utf-8?q?unclosed", "=?utf-8?q?unclosed")


@case
def subject_of_unknown_charset() -> Made:
    return _subject(b" =?x-unknown?q?caf=C3=A9?=", "café")


@case
def subject_by_a_codec_that_runs() -> Made:
    return _subject(b" =?unicode_escape?q?=5Cx41?= =?utf-7?q?+ADw-?=", "\\x41+ADw-")


@case
def subject_with_line_break_in_a_word() -> Made:
    return _subject(b" =?utf-8?q?a=0D=0ABcc:_x=40evil.example?=", "a Bcc: x@evil.example")


@case
def subject_with_nul() -> Made:
    return _subject(b" a\x00b =?utf-8?q?c=00d?=", "ab cd")


@case
def subject_bare_utf8() -> Made:
    return _subject(" größe €".encode(), "größe €")


@case
def subject_bare_latin() -> Made:
    return _subject(b" caf\xe9", "café")


@case
def subject_bare_japanese() -> Made:
    return _subject(b" " + "注文".encode("iso2022_jp"), "注文")


@case
def subject_written_backwards() -> Made:
    return _subject(" a\u202egnp.exe\u202c".encode(), "agnp.exe")


@case
def subject_folded() -> Made:
    return _subject(b" one\r\n\ttwo\r\n  three", "one two three")


@case
def subject_of_a_thousand_words() -> Made:
    return _subject(b" " + b"=?utf-8?q?a?= " * 1000, "a" * 1000)


@case
def subject_empty() -> Made:
    return _subject(b"", "")


@case
def id_in_square_brackets() -> Made:
    return mail("Message-ID: <[id@host]>\n", "x", base=b""), Expected(message_id="<[id@host]>")


@case
def id_half() -> Made:
    return mail("Message-ID: <\n", "x", base=b""), Expected(message_id="", text="x")


@case
def id_bare() -> Made:
    return mail("Message-ID: a.b@host.example\n", "x", base=b""), Expected(
        message_id="<a.b@host.example>"
    )


@case
def id_with_spaces() -> Made:
    return mail("Message-ID: <a [b] c @ d>\n", "x", base=b""), Expected(message_id="<a [b] c @ d>")


@case
def id_with_nul_and_umlaut() -> Made:
    return b"Message-ID: <a\x00\xfcb@c>\r\n\r\nx", Expected(message_id="<aüb@c>")


@case
def id_twice_bracketed() -> Made:
    return mail("Message-ID: <<a@b.example>>\n", "x", base=b""), Expected(
        message_id="<a@b.example>"
    )


@case
def reply_as_encoded_words() -> Made:
    long = "a" * 90 + "@shop.example"
    head = f"In-Reply-To: =?utf-8?q?=3C{long[:50]}?=\n =?utf-8?q?{long[50:]}=3E?=\n"
    return mail(head, "x"), Expected(in_reply_to=(f"<{long}>",))


@case
def reply_in_words() -> Made:
    head = 'In-Reply-To: Your message of "Mon" <a@b.example> (from c@d.example)\n'
    return mail(head, "x"), Expected(in_reply_to=("<a@b.example>",))


@case
def references_folded() -> Made:
    head = "References: <a@x.example>\n <b@x.example>\n\t<c@x.example>\n"
    expected = ("<a@x.example>", "<b@x.example>", "<c@x.example>")
    return mail(head, "x"), Expected(references=expected)


@case
def references_without_spaces() -> Made:
    return mail("References: <a@x><b@x>,<c@x>\n", "x"), Expected(
        references=("<a@x>", "<b@x>", "<c@x>")
    )


@case
def references_without_end() -> Made:
    many = "".join(f" <{n}@x.example>\n" for n in range(500))
    expected = tuple(f"<{n}@x.example>" for n in range(400, 500))
    return mail(f"References:{many}", "x"), Expected(references=expected)


@case
def date_of_old() -> Made:
    return mail("Date: 1 Mar 27 10:00 EST\n", "x", base=b""), Expected(date=1_803_913_200_000)


@case
def date_without_zone() -> Made:
    return mail("Date: Mon, 1 Mar 2027 10:00:00\n", "x", base=b""), Expected(date=1_803_895_200_000)


@case
def date_that_is_none() -> Made:
    made = mail("Date: Mon, 99 Foo 99999999999999 aa:bb\n", "x", base=b"")
    return made, Expected(text="x", subject="")


@case
def bare_line_feeds() -> Made:
    return b"Subject: hi\nFrom: a@b.example\n\nline\nline\n", Expected(
        subject="hi", text="line\nline"
    )


@case
def bare_cr_hides_no_field() -> Made:
    raw = b"From: ada@customer.example\rFrom: x@evil.example\r\nSubject: s\r\n\r\nx"
    value = b" ada@customer.example\rFrom: x@evil.example"
    return raw, Expected(fields=(("from", value), ("subject", b" s")), subject="s")


@case
def space_before_colon() -> Made:
    return b"From : a@b.example\r\nSUBJECT\t: s\r\n\r\nx", Expected(
        fields=(("from", b" a@b.example"),), subject="s"
    )


@case
def two_from() -> Made:
    raw = mail("From: x@evil.example\n", "x")
    return raw, Expected(
        fields=(("from", b" Ada <ada@customer.example>"), ("from", b" x@evil.example"))
    )


@case
def no_header_at_all() -> Made:
    return b"\r\njust text", Expected(text="just text", fields=(), subject="")


@case
def no_blank_line() -> Made:
    return b"Subject: s\r\nthis is text already", Expected(subject="s", text="this is text already")


@case
def nothing_but_a_header() -> Made:
    return b"Subject: s\r\n", Expected(subject="s", text="", notes=("empty",))


@case
def nothing() -> Made:
    return b"", Expected(text="", notes=("empty",))


@case
def mailbox_line_first() -> Made:
    return b"From ada@x Mon Mar  1\r\nSubject: s\r\n\r\nx", Expected(subject="s", text="x")


@case
def odd_addresses() -> Made:
    head = 'From: <\nTo: "\nCc: a@x.example,\nReply-To: \\@\nSender: :;)\nBcc: )x .<\nTo: (c):\n'
    return mail(head, "hello", base=b""), Expected(
        text="hello", fields=(("from", b" <"), ("to", b' "'), ("cc", b" a@x.example,"))
    )


@case
def eight_bit_in_a_name_ends_the_header() -> Made:
    return b"Subject: s\r\nFr\xf6m: x\r\n\r\ny", Expected(subject="s", decoded=("windows-1252",))


@case
def parameter_without_value() -> Made:
    return typed("text/plain; name*", "hello"), Expected(text="hello")


@case
def boundary_without_value() -> Made:
    return typed("multipart/mixed; boundary*", "hello"), Expected(text="hello")


@case
def disposition_of_nothing() -> Made:
    return mail("Content-Disposition: ;a.*\n", "hello"), Expected(text="hello")


@case
def charset_of_nothing() -> Made:
    return typed("text/plain; charset=", "hello"), Expected(text="hello")


@case
def type_that_is_none() -> Made:
    return typed("text", "hello"), Expected(text="hello")


@case
def type_without_semicolon() -> Made:
    return typed("text/html charset=utf-8", "<p>é</p>"), Expected(text="é", html=True, decoded=())


@case
def type_with_comments() -> Made:
    return typed('text/plain (a "(b); charset=koi8-r) ; charset=(x)"utf-8"', "é"), Expected(
        text="é", decoded=()
    )


@case
def whitespace_only_line_in_header() -> Made:
    return b"Subject: a\r\n \r\n b\r\nTo: x\r\n\r\ny", Expected(subject="a b", text="y")


@case
def from_too_long() -> Made:
    raw = b"From: " + b"x" * 3000 + b"\r\nFrom: ada@customer.example\r\n\r\nx"
    return raw, Expected(
        over="2048", text="", fields=(("from", b""), ("from", b" ada@customer.example"))
    )


@case
def field_too_long() -> Made:
    return HEAD + b"X-A: " + b"a " * 20_000 + b"\r\n\r\nx", Expected(over="32768", text="")


@case
def fields_too_many() -> Made:
    return HEAD + b"X: y\r\n" * 1001 + b"\r\nx", Expected(over="1000 header fields", text="")


@case
def header_too_long() -> Made:
    return HEAD + crlf("X-A: " + "a" * 1000 + "\n") * 300 + b"\r\nx", Expected(over="262144")
