"""What becomes of the sixteen texts: behind the guard (where it isn't the text itself), as rich text and
as mrkdwn."""

from __future__ import annotations

from gateway.engine.kinds import Json, JsonObject

J = "\u2060"


def t(text: str, *styles: str) -> JsonObject:
    made: JsonObject = {"type": "text", "text": text}
    return {**made, "style": dict.fromkeys(styles, True)} if styles else made


def url(target: str, text: str | None = None) -> JsonObject:
    made: JsonObject = {"type": "link", "url": target}
    return made if text is None else {**made, "text": text}


def emoji(name: str) -> JsonObject:
    return {"type": "emoji", "name": name}


def section(*elements: JsonObject) -> JsonObject:
    return {"type": "rich_text_section", "elements": list[Json](elements)}


def code(text: str) -> JsonObject:
    return {"type": "rich_text_preformatted", "elements": [t(text)]}


def quote(*elements: JsonObject) -> JsonObject:
    return {"type": "rich_text_quote", "elements": list[Json](elements)}


def items(style: str, indent: int, *words: str, offset: int = 0) -> JsonObject:
    made: JsonObject = {"type": "rich_text_list", "style": style, "indent": indent}
    if offset:
        made["offset"] = offset
    return {**made, "elements": [section(t(word)) for word in words]}


GUARDED: dict[str, str] = {
    "table": f"| who | what |\n|---|---|\n| ada | a \\| b |\n| &lt;{J}!channel> | **x** |\n",
    "fence in a fence": f"````md\n```js\n<{J}!here>\n```\n````\n",
    "pings": (
        f"&lt;{J}!channel> &lt;{J}@U1> &lt;{J}!subteam^S1> &lt;{J}#C1> &lt;{J}!here|here>"
        f" &lt;{J}!channel&gt; &#60;{J}!here> &#x3C;{J}@U1> @here\n"
    ),
    "fake links": (
        f"{J}bank.example (https://evil.example/in) [x]{J}(javascript:alert(1)) [y]{J}(slack://open)"
        f" &lt;{J}https://evil.example|bank.example> [ok](https://ok.example)\n"
    ),
    "direction": "שלום evil \u2067rtl\u2069 \u2066open\u2069\nnext \u200fmark\n",
    "html, image, footnote": (
        f"<b>bold</b> ![logo](https://a.example/l.png) note[^1]\n\n[^1]{J}: the note\n"
    ),
    "pings in code": (
        f"Run `<{J}!channel>` or `<{J}@U1>`:\n\n```\n<{J}!here>\n<{J}!subteam^S1>\n```\n"
    ),
}

RICH: dict[str, list[JsonObject]] = {
    "nested lists": [
        items("ordered", 0, "one"),
        items("bullet", 1, "a", "b"),
        items("ordered", 2, "deep"),
        items("ordered", 0, "two\nmore of two", offset=1),
    ],
    "table": [
        code(
            "who        │ what\n───────────┼──────\nada        │ a | b\n<!channel> │ x",
        )
    ],
    "fence in a fence": [code("```js\n<!here>\n```")],
    "unclosed fence": [section(t("Look:")), code("x = 1")],
    "addresses": [
        section(
            url("https://a.example/x%7Cy?q=1&r=%3C2%3E", "a"),
            t(" "),
            url("https://b.example/?a=1&b=2"),
            t(" https://c.example/p?x=1&y=2"),
        )
    ],
    "pings": [
        section(
            t(
                "<!channel> <@U1> <!subteam^S1> <#C1> <!here|here> <!channel> <!here> <@U1> @here",
            )
        )
    ],
    "fake links": [
        section(
            t("bank.example ("),
            url("https://evil.example/in"),
            t(") [x](javascript:alert(1)) y (slack://open) https://evil.example|bank.example "),
            url("https://ok.example", "ok"),
        )
    ],
    "emoji and times": [
        section(t("Done "), emoji("tada"), t(" at 10:30:45, ratio 3:4:5 "), emoji("+1"))
    ],
    "headings": [
        section(t("One", "bold"), t("\n")),
        section(t("Text\n")),
        section(t("Three ", "bold"), t("b", "bold", "italic")),
    ],
    "direction": [section(t("שלום evil \u2067rtl\u2069 \u2066open\u2069\nnext \u200fmark"))],
    "tight emphasis": [
        section(
            t("a"),
            t("b", "bold"),
            t("c "),
            t("中文", "bold"),
            t("字 *esc* snake_case_name "),
            t("gone", "strike"),
        )
    ],
    "tasks, quotes, rule": [
        items("bullet", 0, "☐ todo", "☑ done"),
        quote(t("one\n> two")),
        section(t("———\n")),
        section(t("end")),
    ],
    "html, image, footnote": [
        section(t("<b>bold</b> "), url("https://a.example/l.png", "logo"), t(" note[^1]\n")),
        section(t("[^1]: the note")),
    ],
    "pings in code": [
        section(t("Run "), t("<!channel>", "code"), t(" or "), t("<@U1>", "code"), t(":")),
        code("<!here>\n<!subteam^S1>"),
    ],
}

MRKDWN: dict[str, str] = {
    "nested lists": "1. one\n    • a\n    • b\n        1. deep\n2. two\n\n    more of two",
    "table": (
        "```\nwho        │ what\n───────────┼──────\nada        │ a | b\n&lt;!channel&gt; │ x\n```"
    ),
    "fence in a fence": f"```\n``{J}`js\n&lt;!here&gt;\n``{J}`\n```",
    "unclosed fence": "Look:\n\n```\nx = 1\n```",
    "addresses": (
        "<https://a.example/x%7Cy?q=1&amp;r=%3C2%3E|a> <https://b.example/?a=1&amp;b=2>"
        " https://c.example/p?x=1&amp;y=2"
    ),
    "pings": (
        "&lt;!channel&gt; &lt;@U1&gt; &lt;!subteam^S1&gt; &lt;#C1&gt; &lt;!here|here&gt;"
        " &lt;!channel&gt; &lt;!here&gt; &lt;@U1&gt; @here"
    ),
    "fake links": (
        "bank.example (<https://evil.example/in>) [x](javascript:alert(1)) y (slack://open)"
        " https://evil.example|bank.example <https://ok.example|ok>"
    ),
    "emoji and times": "Done :tada: at 10:30:45, ratio 3:4:5 :+1:",
    "headings": "*One*\n\nText\n\n*Three b*",
    "direction": "שלום evil \u2067rtl\u2069 \u2066open\u2069\nnext \u200fmark",
    "tight emphasis": f"abc 中文字 {J}*esc* snake_case_name ~gone~",
    "tasks, quotes, rule": "• ☐ todo\n• ☑ done\n\n> one\n> \n> > two\n\n———\n\nend",
    "html, image, footnote": (
        "&lt;b&gt;bold&lt;/b&gt; <https://a.example/l.png|logo> note[^1]\n\n[^1]: the note"
    ),
    "pings in code": (
        "Run `&lt;!channel&gt;` or `&lt;@U1&gt;`:\n\n```\n&lt;!here&gt;\n&lt;!subteam^S1&gt;\n```"
    ),
}
