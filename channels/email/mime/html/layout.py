"""HTML laid out as plain text: blocks as lines, quotations with ``> ``, lists, a table's row on a line,
where links lead, and apart from it what a person wouldn't see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from channels.email.mime import clean
from channels.email.mime.html import links, style
from channels.email.mime.html.lines import Lines
from channels.email.mime.html.tokens import attributes, tokens, unescaped
from channels.email.mime.limits import HIDDEN, OPEN, OverLimitError
from gateway.engine.struct import struct

_VOID: Final = frozenset(
    {
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img"),
        *("input", "link", "meta", "param", "source", "track", "wbr"),
    }
)
_PARAGRAPHS: Final = frozenset(
    {
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "menu", "blockquote"),
        *("pre", "table", "hr"),
    }
)
_BLOCKS: Final = _PARAGRAPHS | frozenset(
    {
        *("div", "section", "article", "header", "footer", "main", "aside", "nav", "address"),
        *("center", "form", "fieldset", "figure", "figcaption", "li", "dt", "dd", "tr"),
        *("caption", "details", "summary", "body", "html", "tbody", "thead", "tfoot", "legend"),
    }
)
_LISTS: Final = frozenset({"ul", "ol", "menu"})
_CELLS: Final = frozenset({"td", "th"})
_UNSHOWN: Final = frozenset(
    {"head", "template", "object", "applet", "audio", "video", "canvas", "svg", "math", "select"}
)
# What the next of its kind closes, and the element up to which it does (HTML standard §13.1.2.4).
_IMPLIED: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "li": (frozenset({"li"}), _LISTS),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "td": (_CELLS, frozenset({"tr", "table"})),
    "th": (_CELLS, frozenset({"tr", "table"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "body": (frozenset({"head"}), frozenset()),
    "a": (frozenset({"a"}), _CELLS),
}
_PARAGRAPH: Final = (frozenset({"p"}), _CELLS | {"table", "button"})
_WALLS: Final = _CELLS | {"table", "caption"}
_IN_TABLES: Final = _CELLS | {"tr", "tbody", "thead", "tfoot", "caption", "col", "colgroup"}
_THROUGH_WALLS: Final = _CELLS | {
    "table",
    "tr",
    "tbody",
    "thead",
    "tfoot",
    "caption",
    "body",
    "html",
}
_QUOTE_CLASSES: Final = frozenset(
    {
        *("gmail_quote", "gmail_quote_container", "yahoo_quoted", "moz-cite-prefix"),
        *("protonmail_quote", "zmail_extra", "outlookmessageheader", "tutanota_quote"),
        *("moz-forward-container",),
    }
)
_QUOTE_IDS: Final = frozenset(
    {
        *("divrplyfwdmsg", "appendonsend", "reply-intro"),
        *("mail-editor-reference-message-container", "olk_src_body_section"),
        *("isforwardcontent", "isreplycontent"),
    }
)
_OUTLOOK_RULE: Final = (
    "border:none;border-top:solid#e1e1e1",
    "border:none;border-top:solid#b5c4df",
)
"""What Outlook draws above the header of the mail that is answered, its only mark."""


@struct(frozen=True, slots=True)
class Shown:
    """``quote_at``: where in ``text`` the HTML says that the quotation of an earlier mail begins."""

    text: str
    hidden: str = ""
    quote_at: int | None = None


@dataclass(slots=True)
class _Open:
    name: str
    look: style.Look
    unshown: bool = False
    pre: bool = False
    quotes: bool = False
    numbered: int = 0
    """The number of a numbered list's next item; 0 for another element."""
    href: str = ""
    label: list[str] | None = None
    row: int = 0
    cells: int = 0


def shown(source: str) -> Shown:
    """Raises ``OverLimitError``."""
    layout = _Layout()
    for token in tokens(source):
        if token.kind == "text":
            layout.text(token.text)
        elif token.kind == "start":
            layout.start(token.name, token.text)
        elif token.kind == "end":
            layout.end(token.name)
        elif not layout.stack[-1].unshown or layout.where.get("head"):
            layout.sheet = style.sheet(token.text, layout.sheet)
    layout.close(1)
    text, mark = layout.lines.finish()
    return Shown(text, clean.line(" ".join(layout.hidden)), mark)


class _Layout:
    def __init__(self) -> None:
        self.lines = Lines()
        self.hidden: list[str] = []
        self.sheet = style.Sheet({})
        self.stack = [_Open("", style.Look())]
        self.where: dict[str, list[int]] = {}
        """Where in the stack the open elements of a name are."""
        self._hidden_length = 0

    # -- tags ------------------------------------------------------------------------------------
    def start(self, name: str, written: str) -> None:
        if name in _IN_TABLES and not self.where.get("table"):
            return
        self._imply(name)
        above = self.stack[-1]
        said = {key: unescaped(value) for key, value in attributes(written).items()}
        look = above.look
        if said or self.sheet.rules:
            look = style.looked(look, name, said, self.sheet)
        element = _Open(name, look, above.unshown or name in _UNSHOWN, above.pre or name == "pre")
        if "white-space" in said.get("style", "") and "pre" in said["style"]:
            element.pre = True
        if not element.unshown and not look.gone:
            self._mark(name, said)
            self._lay_out(name, said, element)
        if name not in _VOID:
            if len(self.stack) > OPEN:
                raise OverLimitError(f"HTML elements within one another, more than {OPEN} deep")
            self.where.setdefault(name, []).append(len(self.stack))
            self.stack.append(element)

    def end(self, name: str) -> None:
        if name == "br":
            self.lines.newline()
        at = self._innermost(frozenset({name}))
        if at > 0 and (name in _THROUGH_WALLS or at > self._innermost(_WALLS)):
            self.close(at)

    def close(self, at: int) -> None:
        """All elements from this one on are over."""
        while len(self.stack) > at:
            element = self.stack.pop()
            self.where[element.name].pop()
            if element.quotes:
                self.lines.quotes -= 1
            if element.numbered:
                self.lines.lists -= 1
            if element.label is not None:
                self.lines.attach(links.beside("".join(element.label), element.href))
            if element.name in _CELLS or element.name == "li":
                self.lines.settle()
            if element.name in _BLOCKS and not element.look.gone and not element.unshown:
                self.lines.block(2 if element.name in _PARAGRAPHS and not self._in_list() else 1)

    def _imply(self, name: str) -> None:
        rules = [_IMPLIED[name]] if name in _IMPLIED else []
        if name in _BLOCKS:
            rules.append(_PARAGRAPH)
        for closed, scope in rules:
            at = self._innermost(closed)
            if at > self._innermost(scope):
                self.close(at)

    def _innermost(self, names: frozenset[str]) -> int:
        return max((self.where[name][-1] for name in names if self.where.get(name)), default=0)

    def _in_list(self) -> bool:
        return self.lines.lists > 0

    def _mark(self, name: str, said: dict[str, str]) -> None:
        classes = said.get("class", "").lower().split()[:20]
        key = said.get("id", "").lower()
        if (
            not _QUOTE_CLASSES.isdisjoint(each.removeprefix("x_") for each in classes)
            or key.removeprefix("x_") in _QUOTE_IDS
            or said.get("style", "").lower().replace(" ", "").startswith(_OUTLOOK_RULE)
            or (name == "blockquote" and said.get("type", "").lower() == "cite")
        ):
            self.lines.quote_here()

    def _lay_out(self, name: str, said: dict[str, str], element: _Open) -> None:
        lines = self.lines
        if name in _BLOCKS and name not in {"li", "tr"}:
            lines.block(2 if name in _PARAGRAPHS and not self._in_list() else 1)
        if name == "br":
            lines.newline()
        elif name == "hr":
            lines.rule()
        elif name == "blockquote" or name in _LISTS:
            self._nest(name, element)
        elif name == "li":
            lines.item(self._bullet())
        elif name == "tr":
            element.row = lines.row()
        elif name in _CELLS:
            self._cell()
        elif "href" in said and name == "a":
            element.href, element.label = said["href"], []
        elif name == "img":
            self._picture(said, hidden=element.look.hidden)

    def _nest(self, name: str, element: _Open) -> None:
        if name == "blockquote":
            element.quotes = True
            self.lines.quotes += 1
        else:
            element.numbered = 1
            self.lines.lists += 1

    def _bullet(self) -> str:
        at = self._innermost(_LISTS)
        if at == 0 or self.stack[at].name != "ol":
            return "- "
        self.stack[at].numbered += 1
        return f"{self.stack[at].numbered - 1}. "

    def _cell(self) -> None:
        at = self._innermost(frozenset({"tr"}))
        if at:
            row = self.stack[at]
            row.cells += 1
            self.lines.cell(first=row.cells == 1, row=row.row)

    def _picture(self, said: dict[str, str], *, hidden: bool) -> None:
        spacer = said.get("width") in {"0", "1"} or said.get("height") in {"0", "1"}
        if not spacer and not hidden and (alt := clean.line(said.get("alt", ""))):
            self._say(f"[{alt[:200]}]")

    # -- text ------------------------------------------------------------------------------------
    def text(self, written: str) -> None:
        above = self.stack[-1]
        if above.unshown:
            return
        text = clean.text(unescaped(written))
        if above.look.hidden:
            self._hide(text)
        elif above.pre:
            self.lines.verbatim(text)
            self._label(text)
        else:
            self._say(text)

    def _say(self, text: str) -> None:
        if said := self.lines.words(text):
            self._label(said)

    def _label(self, text: str) -> None:
        if self.where.get("a") and (label := self.stack[self.where["a"][-1]].label) is not None:
            label.append(text)

    def _hide(self, text: str) -> None:
        if self._hidden_length < HIDDEN and (said := " ".join(text.split())):
            said = said[: HIDDEN - self._hidden_length]
            self.hidden.append(said)
            self._hidden_length += len(said) + 1
