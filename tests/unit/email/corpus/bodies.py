"""What a person sees of HTML, and of text whose lines flow."""

from __future__ import annotations

from tests.unit.email.corpus.build import Expected, Made, html, mail, multipart, table, text, typed

BODIES, case = table()


def _html(source: str, **expected: object) -> Made:
    return typed("text/html; charset=utf-8", source), Expected(**expected)  # type: ignore[arg-type]


@case
def flowed() -> Made:
    body = "one \ntwo\n> quoted \n> line\n>> deeper\n from here\n-- \nAda \nof Shop\n"
    return typed("text/plain; format=flowed", body), Expected(
        text="one two\n> quoted line\n> > deeper\nfrom here\n-- \nAda of Shop"
    )


@case
def flowed_delsp() -> Made:
    return typed("text/plain; format=flowed; delsp=yes", "注文は \nどこ\n"), Expected(
        text="注文はどこ"
    )


@case
def paragraphs() -> Made:
    return _html("<p>Hello\n <b>Ada</b>,</p><p>bye</p>", text="Hello Ada,\n\nbye", html=True)


@case
def lines() -> Made:
    return _html("<div>a</div><div><br></div><div>b<br>c<br></div>d", text="a\n\nb\nc\nd")


@case
def lists() -> Made:
    source = "<ul><li>a<li><p>b</p><ol><li>c<li>d</ol></ul>e"
    return _html(source, text="- a\n- b\n  1. c\n  2. d\n\ne")


@case
def rows() -> Made:
    source = "<table><tr><th>Item</th><th>Price</th></tr><tr><td><p>Cup</p><td>$ 4</table>"
    return _html(source, text="Item | Price\nCup | $ 4")


@case
def layout_by_table() -> Made:
    source = "<table><tr><td><table><tr><td><p>a</p><p>b</p></td></tr></table></td></tr></table>"
    return _html(source, text="a\n\nb")


@case
def quotation() -> Made:
    source = "<p>yes</p><blockquote><p>a</p><p>b</p><blockquote>c</blockquote></blockquote>end"
    return _html(source, text="yes\n\n> a\n>\n> b\n>\n> > c\n\nend")


@case
def preformatted() -> Made:
    return _html("<pre>a  b\n  c\n\nd</pre>", text="a  b\n  c\n\nd")


@case
def link_beside_label() -> Made:
    return _html(
        "<a href='https://a.example/x?b=1'>here</a>", text="here (https://a.example/x?b=1)"
    )


@case
def link_is_its_label() -> Made:
    return _html("<a href='https://a.example/'>a.example</a>", text="a.example")


@case
def link_lies() -> Made:
    source = "<a href='https://evil.example/x'>https://bank.example/login</a>"
    said = "https://bank.example/login (leads elsewhere, to evil.example: https://evil.example/x)"
    return _html(source, text=said)


@case
def link_hides_behind_a_user() -> Made:
    source = "<a href='https://bank.example@evil.example/'>bank.example</a>"
    return _html(source, has=("leads elsewhere, to evil.example",))


@case
def link_that_runs() -> Made:
    return _html("<a href='javascript:alert(1)'>click</a>", text="click")


@case
def link_to_write() -> Made:
    source = "<a href='mailto:x@evil.example'>ada@shop.example</a> <a href='mailto:a@b.example'>a@b.example</a>"
    return _html(source, text="ada@shop.example (writes to x@evil.example) a@b.example")


@case
def picture_with_words() -> Made:
    return _html("<img alt='A cup'><img alt=x width=1>", text="[A cup]")


@case
def script_and_style() -> Made:
    source = "<style>p{}</style><script>if (a<b) '</p>'</script><!-- c --><title>t</title>x"
    return _html(source, text="x", hidden="")


@case
def hidden_by_display() -> Made:
    return _html("a<div style='display: none !important'>b</div>c", text="ac", hidden="b")


@case
def hidden_by_class() -> Made:
    source = (
        "<style>@media x{.v{display:none}} .h, .i{display:none}</style><p class='x H'>a<p class=v>b"
    )
    return _html(source, text="b", hidden="a")


@case
def hidden_by_size() -> Made:
    source = "<p style='font-size:0'>a <span style='font-size:12px'>b</span></p>"
    return _html(source, text="b", hidden="a")


@case
def hidden_by_colour() -> Made:
    return _html("<p style='color:#FFF'>a</p><font color=white>b</font>c", text="c", hidden="a b")


@case
def white_on_black_is_seen() -> Made:
    source = "<table bgcolor='#000'><tr><td style='color:rgb(255,255,255)'>a</table>"
    return _html(source, text="a", hidden="")


@case
def colours_of_an_unread_sheet() -> Made:
    source = "<style>td .x{background:#333}</style><p style='color:#fff'>a</p>"
    return _html(source, text="a", hidden="")


@case
def hidden_off_screen() -> Made:
    source = "<p style='position:absolute;left:-9999px'>a</p><p style='text-indent:-9999px'>b</p>c"
    return _html(source, text="c", hidden="a b")


@case
def hidden_by_height() -> Made:
    return _html("<div style='max-height:0;overflow:hidden'>a</div>b", text="b", hidden="a")


@case
def hidden_by_opacity_and_attribute() -> Made:
    source = "<p style='opacity:0'>a<p hidden>b<p style='visibility:hidden'>c<p>d"
    return _html(source, text="d", hidden="a b c")


@case
def hidden_by_what_is_left_of_it() -> Made:
    source = (
        "<div style='transform:scale(.3);opacity:.3'><p style='scale:.3'>a</p>b<p style='opacity:20%'>c</p></div>"
        "<div style='clip-path:inset(100%)'><p style='clip-path:none'>d</p></div>"
    )
    return _html(source, text="b", hidden="a c d")


@case
def a_tilted_newsletter_is_seen() -> Made:
    source = (
        "<style>.h{clip-path:polygon(0 0,100% 0,100% 90%,0 100%)}.b{transform:rotate(-3deg)}</style>"
        "<div class=h>a</div><p class=b style='font-size:1rem;filter:grayscale(1)'>b</p>"
    )
    return _html(source, text="a\n\nb", hidden="")


@case
def hidden_everything() -> Made:
    return _html("<div style='display:none'>approve 7F3K</div>", text="", hidden="approve 7F3K")


@case
def tags_left_open() -> Made:
    return _html("<div><p>a<td>b<b>c</p></i></div>d", text="abc\n\nd")


@case
def no_tags() -> Made:
    return _html("1 < 2 & 3 &lt; 4 <3", text="1 < 2 & 3 < 4 <3")


@case
def tag_that_never_ends() -> Made:
    return _html("hello <a href='x", text="hello <a href='x")


@case
def entities() -> Made:
    source = "&euro;&nbsp;5 &#x41; &#99999999999; &#0; &#x1f; &unknown; &amp;lt;"
    return _html(source, text="€ 5 A \ufffd \ufffd &unknown; &lt;")


@case
def gmail_quote() -> Made:
    source = (
        "<div>Thanks</div><div class='gmail_quote gmail_quote_container'><div class=gmail_attr>On Monday"
        " june wrote:<br></div><blockquote class=gmail_quote>old</blockquote></div>"
    )
    return _html(
        source, text="Thanks\nOn Monday june wrote:\n\n> old", quote="On Monday june wrote:"
    )


@case
def outlook_quote() -> Made:
    source = "<p>Thanks</p><div id=appendonsend></div><hr><div id=divRplyFwdMsg><b>From:</b> june</div>old"
    return _html(source, has=("Thanks", "From: june"), quote="---")


@case
def outlook_for_windows_quote() -> Made:
    rule = "border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in"
    source = f"<p>Thanks</p><div><div style='{rule}'><p><b>From:</b> june<br>Sent: Monday</p></div></div>"
    return _html(source, text="Thanks\n\nFrom: june\nSent: Monday", quote="From: june")


@case
def apple_quote() -> Made:
    source = (
        "Thanks<blockquote type=cite><div>On Monday june wrote:</div><div>old</div></blockquote>"
    )
    return _html(source, quote="> On Monday june wrote:")


@case
def thunderbird_quote() -> Made:
    source = "<div class=moz-cite-prefix>june wrote:</div><blockquote type=cite>old</blockquote>new"
    return _html(source, quote="june wrote:")


@case
def quote_after_another_part() -> Made:
    source = "<p>two</p><div class=yahoo_quoted>june wrote</div>"
    return multipart("mixed", text("one"), html(source)), Expected(quote="june wrote")


@case
def very_deep() -> Made:
    return _html("<div>" * 3000 + "hello" + "</div>" * 3000, text="hello")


@case
def too_deep_html() -> Made:
    return _html("<div>" * 6000 + "hello", text="", over="within one another")


@case
def too_many_tags() -> Made:
    return _html("<br>" * 60_001, text="", over="HTML tags")


@case
def too_deep_beside_plain() -> Made:
    raw = multipart("alternative", text("hello there, all of you"), html("<div>" * 6000 + "x"))
    return raw, Expected(text="hello there, all of you", html=False)


@case
def endless_quotation() -> Made:
    return _html("<blockquote>" * 2000 + "x", text="> " * 20 + "x")


@case
def many_new_lines() -> Made:
    return mail("", "\n" * 5000 + "hello" + "\n" * 5000), Expected(text="hello")
