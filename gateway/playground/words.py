"""Slack's three ways of writing as HTML. Nothing that somebody wrote is ever markup by itself.

``mrkdwn`` is Slack's own, with ``<@U1>`` and the entities ``&lt; &gt; &amp;``; ``markdown`` blocks hold what
models write; ``rich_text`` is a tree. Pictures are named instead of fetched: the page loads nothing from
elsewhere.

Source: Slack docs "Formatting message text", "Markdown block", "Rich text block".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from gateway.engine.kinds import Json, JsonObject

Names = Callable[[str], str | None]
"""The name behind a user's or a channel's id, if there is one."""

_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_PIECE = re.compile(
    r"```\n?(?P<pre>.+?)\n?```"
    r"|`(?P<code>[^`\n]+)`"
    r"|<(?P<angle>[^<>\n]+)>"
    r"|(?<![\w*])\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|(?<![\w_])_(?P<it>[^\s_](?:[^_\n]*[^\s_])?)_(?![\w_])"
    r"|(?<![\w~])~(?P<gone>[^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])",
    re.DOTALL,
)
_EMOJI = re.compile(r":([a-z0-9_+'-]+):")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_KNOWN_EMOJI = {
    "white_check_mark": "✅",
    "x": "❌",
    "warning": "⚠️",
    "hourglass": "⌛",
    "tada": "🎉",
    "wave": "👋",
    "thumbsup": "👍",
    "+1": "👍",
    "eyes": "👀",
    "information_source": "ℹ️",
    "bell": "🔔",
    "lock": "🔒",
    "point_right": "👉",
    "smile": "😄",
    "heart": "❤️",
}


def _emoji(text: str) -> str:
    return _EMOJI.sub(lambda found: _KNOWN_EMOJI.get(found[1], found[0]), text)


def plain(text: str) -> Markup:
    """Text as it is, with its line ends."""
    return Markup("<br>").join(escape(line) for line in _emoji(text).split("\n"))


def _mention(label: str) -> Markup:
    return Markup('<span class="mention">{}</span>').format(label)


def _link(url: str, label: str) -> Markup:
    if not _SAFE.match(url):
        return escape(label)
    return Markup('<a href="{}" rel="noreferrer noopener" target="_blank">{}</a>').format(
        url, label
    )


# -- mrkdwn ------------------------------------------------------------------------------------------------
def mrkdwn(text: str, names: Names) -> Markup:
    lines: list[Markup] = []
    quote: list[Markup] = []
    for line in [*_inline(text, names).split("\n"), None]:
        if line is not None and line.startswith("&gt;"):
            quote.append(line.removeprefix("&gt;").lstrip())
            continue
        if quote:
            lines.append(Markup("<blockquote>{}</blockquote>").format(Markup("<br>").join(quote)))
            quote = []
        if line is not None:
            lines.append(line)
    return Markup("<br>").join(lines)


def _inline(text: str, names: Names) -> Markup:
    made: list[Markup] = []
    at = 0
    for found in _PIECE.finditer(text):
        made += [_text(text[at : found.start()]), _formatted(found, names)]
        at = found.end()
    return Markup("").join([*made, _text(text[at:])])


def _formatted(found: re.Match[str], names: Names) -> Markup:
    kind, inside = cast("str", found.lastgroup), found[cast("str", found.lastgroup)]
    match kind:
        case "pre":
            kept = _text(inside, emoji=False).replace(
                "\n", Markup("&#10;")
            )  # not a line that a quote begins
            return Markup('<pre tabindex="0">{}</pre>').format(kept)
        case "code":
            return Markup("<code>{}</code>").format(_text(inside, emoji=False))
        case "angle":
            return _angle(inside, names)
        case "bold":
            return Markup("<strong>{}</strong>").format(_inline(inside, names))
        case "it":
            return Markup("<em>{}</em>").format(_inline(inside, names))
        case _:
            return Markup("<s>{}</s>").format(_inline(inside, names))


def _text(text: str, *, emoji: bool = True) -> Markup:
    for entity, letter in _ENTITIES:
        text = text.replace(entity, letter)
    return escape(_emoji(text) if emoji else text)


def _angle(inside: str, names: Names) -> Markup:
    target, _, label = inside.partition("|")
    match target[:1]:
        case "@":
            return _mention(f"@{names(target[1:]) or label or target[1:]}")
        case "#":
            return _mention(f"#{names(target[1:]) or label or target[1:]}")
        case "!":
            kind = target[1:]
            return _text(label) if kind.startswith("date^") else _mention(label or f"@{kind}")
        case _:
            return _link(target, label or target)


# -- Markdown ----------------------------------------------------------------------------------------------
_USER = re.compile(r"&lt;@([UW][A-Z0-9]+)(?:\|[^&]*)?&gt;")


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True})
    made.enable(["table", "strikethrough"])
    made.add_render_rule("text", _markdown_text)
    made.add_render_rule("image", _markdown_image)
    made.add_render_rule("link_open", _markdown_link)
    made.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
    made.add_render_rule("table_close", lambda *_: "</table></div>")
    return made


def markdown(text: str, names: Names) -> Markup:
    # What the parser hands back is escaped by it: raw HTML is off, and each rule of ours escapes.
    return Markup(_parser().render(text, {"names": names}))  # noqa: S704


def _markdown_text(
    _: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    names: Names = env["names"]

    def named(found: re.Match[str]) -> str:
        name = names(found[1])
        return found[0] if name is None else str(_mention(f"@{name}"))

    return _USER.sub(named, str(escape(_emoji(tokens[at].content))))


def _markdown_image(
    _: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[at]
    return str(_link(str(token.attrGet("src") or ""), f"[picture: {token.content or 'no words'}]"))


def _markdown_link(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[at].attrSet("rel", "noreferrer noopener")
    tokens[at].attrSet("target", "_blank")
    return renderer.renderToken(tokens, at, options, env)


# -- rich text ---------------------------------------------------------------------------------------------
def rich_text(block: JsonObject, names: Names) -> Markup:
    return Markup("").join(_part(part, names) for part in _objects(block.get("elements")))


def _part(part: JsonObject, names: Names) -> Markup:
    items = _objects(part.get("elements"))
    match part.get("type"):
        case "rich_text_list":
            tag = "ol" if part.get("style") == "ordered" else "ul"
            rows = (Markup("<li>{}</li>").format(_part(item, names)) for item in items)
            return Markup("<{0}>{1}</{0}>").format(tag, Markup("").join(rows))
        case "rich_text_preformatted":
            return Markup('<pre tabindex="0">{}</pre>').format(_elements(items, names, br=False))
        case "rich_text_quote":
            return Markup("<blockquote>{}</blockquote>").format(_elements(items, names))
        case _:
            return Markup("<div>{}</div>").format(_elements(items, names))


def _elements(items: Iterable[JsonObject], names: Names, *, br: bool = True) -> Markup:
    return Markup("").join(_element(item, names, br) for item in items)


def _element(item: JsonObject, names: Names, br: bool) -> Markup:
    text = str(item.get("text") or "")
    match item.get("type"):
        case "text":
            made = plain(text) if br else escape(text)
        case "link":
            made = _link(str(item.get("url") or ""), text or str(item.get("url") or ""))
        case "user":
            made = _mention(f"@{names(str(item.get('user_id'))) or item.get('user_id')}")
        case "channel":
            made = _mention(f"#{names(str(item.get('channel_id'))) or item.get('channel_id')}")
        case "usergroup":
            made = _mention(f"@{item.get('usergroup_id')}")
        case "broadcast":
            made = _mention(f"@{item.get('range')}")
        case "emoji":
            made = plain(f":{item.get('name')}:")
        case "date":
            made = escape(str(item.get("fallback") or ""))
        case _:
            made = escape(text)
    return _styled(made, item.get("style"))


def _styled(made: Markup, style: Json) -> Markup:
    if isinstance(style, dict):
        for name, tag in (("code", "code"), ("bold", "strong"), ("italic", "em"), ("strike", "s")):
            if style.get(name) is True:
                made = Markup("<{0}>{1}</{0}>").format(tag, made)
    return made


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
