"""Labels that are wrong, missing or dangerous."""

from __future__ import annotations

from tests.unit.email.corpus.build import Expected, Made, b64, mail, table, typed

CHARSETS, case = table()


def _labelled(label: str, body: bytes, expected: str, *decoded: str) -> Made:
    return typed(f"text/plain; charset={label}", body, "8bit"), Expected(
        text=expected, decoded=decoded
    )


@case
def utf8() -> Made:
    return _labelled("utf-8", "né €".encode(), "né €")


@case
def no_label_utf8() -> Made:
    return mail("", "né €".encode()), Expected(text="né €", decoded=("utf-8",))


@case
def no_label_latin() -> Made:
    return mail("", b"caf\xe9 \x80"), Expected(text="café €", decoded=("windows-1252",))


@case
def latin_with_curly_quotes() -> Made:
    return _labelled("iso-8859-1", b"\x93hi\x94 \x96 \x80", "“hi” – €")


@case
def gb2312_that_is_gbk() -> Made:
    return _labelled("gb2312", "镕 €—".encode("gb18030"), "镕 €—", "gb18030")


@case
def gb2312_that_is_gb18030() -> Made:
    return _labelled("gb2312", "𠮷 㐂".encode("gb18030"), "𠮷 㐂", "gb18030")


@case
def gb2312_true() -> Made:
    return _labelled("GB2312", "你好".encode("gb2312"), "你好")


@case
def korean_of_windows() -> Made:
    return _labelled("ks_c_5601-1987", "똠방".encode("cp949"), "똠방")


@case
def japanese_without_label() -> Made:
    body = "注文はどこ".encode("iso2022_jp")
    return mail("", body), Expected(text="注文はどこ", decoded=("iso-2022-jp",))


@case
def japanese_quoted_printable() -> Made:
    body = "".join(f"={byte:02X}" for byte in "注文".encode("iso2022_jp")).encode()
    return typed("text/plain; charset=iso-2022-jp", body, "quoted-printable"), Expected(
        text="注文", decoded=()
    )


@case
def japanese_labelled_ascii() -> Made:
    return _labelled("us-ascii", "注文".encode("iso2022_jp"), "注文", "iso-2022-jp")


@case
def japanese_half_width() -> Made:
    return _labelled("iso-2022-jp", b"\x1b(I1\x1b(B", "ｱ")


@case
def shift_jis_of_windows() -> Made:
    return _labelled("shift_jis", "①株".encode("cp932"), "①株")


@case
def windows_31j() -> Made:
    return _labelled("windows-31j", "①".encode("cp932"), "①")


@case
def hz() -> Made:
    return _labelled("hz-gb-2312", "你好".encode("hz"), "你好")


@case
def korean_seven_bit() -> Made:
    return _labelled("iso-2022-kr", "주문".encode("iso2022_kr"), "주문")


@case
def hebrew_logical() -> Made:
    return _labelled("iso-8859-8-i", "שלום".encode("iso8859-8"), "שלום")


@case
def utf8mb4() -> Made:
    return _labelled("utf8mb4", "🙂".encode(), "🙂")


@case
def unknown_label() -> Made:
    return _labelled("x-unknown", "é".encode(), "é", "utf-8")


@case
def unknown_eight_bit() -> Made:
    return _labelled("unknown-8bit", b"\xe9", "é", "windows-1252")


@case
def ansi_x3() -> Made:
    return _labelled("ansi_x3.110-1983", b"plain", "plain", "")[0], Expected(text="plain")


@case
def ascii_with_eight_bits() -> Made:
    return _labelled("us-ascii", "é".encode(), "é", "utf-8")


@case
def utf8_that_is_latin() -> Made:
    return _labelled("utf-8", b"caf\xe9", "café", "windows-1252")


@case
def utf8_cut_in_a_character() -> Made:
    body = ("你好" * 20).encode() + b"\xe4\xbd"
    return _labelled("utf-8", body, "你好" * 20 + "\ufffd", "utf-8, with gaps")


@case
def utf16_with_mark() -> Made:
    body = b64("\ufeffhé".encode("utf-16-le"))
    return typed("text/plain; charset=utf-16", body, "base64"), Expected(text="hé", decoded=())


@case
def utf16_that_is_none() -> Made:
    return _labelled("utf-16", "größe".encode(), "größe", "utf-8")


@case
def utf8_with_mark() -> Made:
    return _labelled("utf-8", b"\xef\xbb\xbfhi", "hi")


@case
def utf7_stays_shut() -> Made:
    return _labelled("utf-7", b"+ADw-script+AD4-", "+ADw-script+AD4-")


@case
def escapes_stay_shut() -> Made:
    return _labelled("unicode_escape", b"\\x41\\N{BULLET}", "\\x41\\N{BULLET}")


@case
def rot13_stays_shut() -> Made:
    return _labelled("rot13", b"uryyb", "uryyb")


@case
def label_with_nul() -> Made:
    raw = mail("", b"")[:-2] + b"Content-Type: text/plain; charset=\x00utf-8\r\n\r\nok"
    return raw, Expected(text="ok")


@case
def label_idna() -> Made:
    return _labelled("idna", b"xn--abc", "xn--abc")


@case
def label_hex() -> Made:
    return _labelled("hex", b"4142", "4142")


@case
def html_names_its_own() -> Made:
    body = '<meta charset="koi8-r"><p>привет</p>'.encode("koi8-r")
    return typed("text/html", body, "8bit"), Expected(text="привет", decoded=())


@case
def html_that_says_unicode() -> Made:
    source = '<meta http-equiv=Content-Type content="text/html; charset=unicode"><p>größe</p>'
    return typed("text/html", source, "8bit"), Expected(text="größe", decoded=())


@case
def controls_go() -> Made:
    return mail("", b"a\x00b\x07c\x1b[31md\x7fe\tf\rg\x0bh"), Expected(text="abc[31mde\tf\ng\nh")


@case
def tags_nobody_sees() -> Made:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "approve")
    return _labelled("utf-8", f"hi{hidden}".encode(), "hi")


@case
def rows_of_what_nobody_sees() -> Made:
    """Each byte of a text as one of 256 unseen characters, or each bit as one of two."""
    bytes_ = "".join(chr(0xE0100 + byte) for byte in b"approve")
    bits = "".join("\u200c\u200d"[int(bit)] for bit in f"{0xAFFE:b}")
    body = f"a\u200bb{bytes_} c{bits} ❤️\u200d🔥 می\u200cخواهم"
    return _labelled("utf-8", body.encode(), "ab c ❤️\u200d🔥 می\u200cخواهم")


@case
def letters_composed() -> Made:
    return _labelled("utf-8", "cafe\u0301".encode(), "café")
