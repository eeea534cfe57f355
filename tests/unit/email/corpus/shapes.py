"""Parts within parts, and what is missing from them."""

from __future__ import annotations

from tests.unit.email.corpus.build import (
    Expected,
    Made,
    b64,
    crlf,
    file,
    html,
    inner,
    joined,
    mail,
    multipart,
    part,
    table,
    text,
    typed,
)

SHAPES, case = table()


@case
def text_and_file() -> Made:
    return multipart("mixed", text("Here it is."), file("a.pdf")), Expected(
        text="Here it is.", files=("a.pdf",), unread=()
    )


@case
def text_picture_text() -> Made:
    picture = part("image/png", b64(b"png"), "Content-Disposition: inline; filename=p.png\n")
    raw = multipart("mixed", text("before"), picture, text("after"))
    return raw, Expected(text="before\n\nafter", files=("p.png",))


@case
def text_html_text() -> Made:
    raw = multipart("mixed", text("one"), html("<p>two</p>"), text("three"))
    return raw, Expected(text="one\n\ntwo\n\nthree", html=True)


@case
def alternative_prefers_plain() -> Made:
    raw = multipart("alternative", text("hello there"), html("<p>hello there</p>"))
    return raw, Expected(text="hello there", html=False)


@case
def alternative_plain_blank() -> Made:
    raw = multipart("alternative", text(" \n"), html("<p>hello</p>"))
    return raw, Expected(text="hello", html=True)


@case
def alternative_plain_is_an_excuse() -> Made:
    excuse = "Your mail program can't show HTML."
    raw = multipart("alternative", text(excuse), html("<p>Where is my order 1042?</p>"))
    return raw, Expected(text="Where is my order 1042?", html=True)


@case
def alternative_plain_is_a_stub() -> Made:
    raw = multipart("alternative", text("Hello"), html(f"<p>Hello</p><p>{'word ' * 50}</p>"))
    return raw, Expected(has=("word word",), html=True)


@case
def alternative_html_only_empty() -> Made:
    raw = multipart("alternative", text("hi"), html(""))
    return raw, Expected(text="hi", html=False)


@case
def alternative_with_files_inside() -> Made:
    mixed = inner("mixed", html("<p>Hello</p>"), file("a.pdf"), html("<p>bye</p>"))
    return multipart("alternative", text("Hello, bye"), mixed), Expected(
        text="Hello, bye", files=("a.pdf",)
    )


@case
def related_with_picture() -> Made:
    picture = part("image/png", b64(b"png"), "Content-ID: <p1>\nContent-Disposition: inline\n")
    related = inner("related", html("<p>Hi <img src='cid:p1' alt='logo'></p>"), picture)
    return multipart("alternative", text(""), related), Expected(
        text="Hi [logo]", files=("part-2.2.png",)
    )


@case
def related_empty() -> Made:
    raw = multipart("alternative", part('multipart/related; boundary="b2"', ""))
    return raw, Expected(text="", notes=("empty",))


@case
def related_root_by_id() -> Made:
    picture = part("image/png", b64(b"x"), "Content-ID: <p>\n")
    body = part("text/html", "<p>root</p>", "Content-ID: <r>\n")
    return multipart("related", picture, body, more='; start="<r>"'), Expected(text="root")


@case
def named_text_comes_first() -> Made:
    log = part("text/plain", "log line", 'Content-Disposition: inline; filename="log.txt"\n')
    return multipart("mixed", log, text("the real text")), Expected(
        text="the real text", files=("log.txt",)
    )


@case
def body_marked_as_attachment() -> Made:
    raw = mail("Content-Type: text/plain\nContent-Disposition: attachment\n", "hello")
    return raw, Expected(text="hello")


@case
def file_and_no_text() -> Made:
    return mail(
        "Content-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n", "x"
    ), Expected(text="", files=("a.pdf",))


@case
def unknown_multipart() -> Made:
    return multipart("x-odd", text("one"), text("two")), Expected(text="one\n\ntwo")


@case
def first_boundary_missing() -> Made:
    body = b"hello\r\n\r\n--b1\r\n" + file("a.pdf") + b"\r\n--b1--\r\n"
    return typed("multipart/mixed; boundary=b1", body), Expected(text="hello", files=("a.pdf",))


@case
def boundary_never_used() -> Made:
    return typed("multipart/mixed; boundary=b1", "hello\n"), Expected(text="hello")


@case
def boundary_only_closed() -> Made:
    return typed("multipart/mixed; boundary=b1", "hello\n--b1--\n"), Expected(text="hello")


@case
def boundary_unnamed() -> Made:
    return typed("multipart/mixed", joined(text("hello"), file("a.pdf"))), Expected(
        text="hello", files=("a.pdf",)
    )


@case
def last_boundary_missing() -> Made:
    return typed("multipart/mixed; boundary=b1", b"--b1\r\n" + text("hello\n")), Expected(
        text="hello"
    )


@case
def last_boundary_cut() -> Made:
    raw = typed(
        "multipart/mixed; boundary=boundary", b"--boundary\r\n" + text("hello\n") + b"--bound"
    )
    return raw, Expected(text="hello")


@case
def boundary_begins_another() -> Made:
    nested = inner("alternative", text("hi"), html("<p>hi</p>"), boundary="b1-x")
    return multipart("mixed", nested, file("a.pdf")), Expected(text="hi", files=("a.pdf",))


@case
def boundary_used_twice() -> Made:
    nested = inner("alternative", text("hi"), html("<p>hi</p>"), boundary="b1")
    return multipart("mixed", nested, text("more")), Expected(has=("hi",))


@case
def boundary_with_blanks() -> Made:
    body = b"--b 1 \t\r\n" + text("hi") + b"\r\n--b 1--  \r\nepilogue"
    return typed('multipart/mixed; boundary="b 1 "', body), Expected(text="hi", lacks=("epilogue",))


@case
def inner_multipart_unclosed() -> Made:
    nested = part("multipart/alternative; boundary=b2", b"--b2\r\n" + text("hi"))
    return multipart("mixed", nested, file("a.pdf")), Expected(text="hi", files=("a.pdf",))


@case
def part_without_blank_line() -> Made:
    body = "--b1\nContent-Type: text/plain\n--b1\n\nhello\n--b1--\n"
    return typed("multipart/mixed; boundary=b1", body), Expected(text="hello")


@case
def part_without_header() -> Made:
    return typed("multipart/mixed; boundary=b1", "--b1\n\nhello\n--b1--\n"), Expected(text="hello")


@case
def multipart_said_to_be_base64() -> Made:
    raw = typed("multipart/mixed; boundary=b1", joined(text("hello")), "base64")
    return raw, Expected(text="hello")


@case
def no_parts_at_all() -> Made:
    return typed("multipart/mixed; boundary=b1", "--b1--\n"), Expected(text="", notes=("empty",))


@case
def base64_in_pieces() -> Made:
    body = b"aGVsbG8=\r\nIHRoZXJl\r\n!!IHlvdQ\r\n"
    return typed("text/plain", body, "base64"), Expected(text="hello there you")


@case
def quoted_printable_broken() -> Made:
    return typed("text/plain; charset=utf-8", "caf=C3=A9 =ZZ =\nx=", "Quoted-Printable"), Expected(
        has=("café",)
    )


@case
def uuencoded() -> Made:
    body = "begin 644 a.txt\n%:&5L;&\\\n`\nend\n"
    return typed("text/plain", body, "x-uuencode"), Expected(text="hello")


@case
def name_in_sections() -> Made:
    said = "Content-Disposition: attachment; filename*1*=%20b.pdf;\n filename*0*=utf-8''%C3%A4\n"
    return multipart("mixed", text("x"), part("application/pdf", "x", said)), Expected(
        files=("ä b.pdf",)
    )


@case
def name_in_encoded_words() -> Made:
    said = 'Content-Disposition: attachment; filename="=?utf-8?q?=C3=A4=2Epdf?="\n'
    return multipart("mixed", text("x"), part("application/pdf", "x", said)), Expected(
        files=("ä.pdf",)
    )


@case
def name_that_climbs() -> Made:
    return multipart(
        "mixed", text("x"), file("../../etc/passwd"), file("C:\\\\x\\\\con.txt")
    ), Expected(files=("passwd", "_con.txt"))


@case
def name_written_backwards() -> Made:
    said = "Content-Disposition: attachment; filename*=utf-8''inv%E2%80%AEfdp.exe\n"
    return multipart("mixed", text("x"), part("application/pdf", "x", said)), Expected(
        files=("invfdp.exe",)
    )


@case
def name_without_end() -> Made:
    return multipart("mixed", text("x"), file("n" * 500 + ".pdf")), Expected(
        files=("n" * 116 + ".pdf",)
    )


@case
def too_deep() -> Made:
    body = b"".join(
        crlf(f"Content-Type: multipart/mixed; boundary=d{n}\n\n--d{n}\n") for n in range(60)
    )
    return mail("", b"")[:-2] + body + b"\r\nx", Expected(over="50 deep", text="")


@case
def too_many_parts() -> Made:
    return typed("multipart/mixed; boundary=b1", "--b1\n\nx\n" * 2001), Expected(
        over="2000 boundary"
    )


@case
def too_much_text() -> Made:
    return mail("", "word " * 50_000), Expected(over="200000 bytes of text", text="")
