"""Sixteen texts that a model might write and that Markdown converters for Slack get wrong."""

from __future__ import annotations

LONG_CODE = "```python\n" + "".join(f"row_{n} = {n}\n" for n in range(400)) + "```\n"
LONG_TEXT = "\n\n".join(f"Paragraph {n}. " + "All of it is said. " * 12 for n in range(60))

SIXTEEN: dict[str, str] = {
    "nested lists": "1. one\n   - a\n   - b\n     1. deep\n2. two\n\n   more of two\n",
    "table": "| who | what |\n|---|---|\n| ada | a \\| b |\n| <!channel> | **x** |\n",
    "fence in a fence": "````md\n```js\n<!here>\n```\n````\n",
    "unclosed fence": "Look:\n\n```py\nx = 1\n",
    "addresses": (
        "[a](https://a.example/x|y?q=1&r=<2>) <https://b.example/?a=1&b=2>"
        " https://c.example/p?x=1&y=2\n"
    ),
    "pings": (
        "<!channel> <@U1> <!subteam^S1> <#C1> <!here|here> &lt;!channel&gt; &#60;!here>"
        " &#x3C;@U1> @here\n"
    ),
    "fake links": (
        "[bank.example](https://evil.example/in) [x](javascript:alert(1)) [y](slack://open)"
        " <https://evil.example|bank.example> [ok](https://ok.example)\n"
    ),
    "emoji and times": "Done :tada: at 10:30:45, ratio 3:4:5 :+1:\n",
    "headings": "# One\n\nText\n\n### Three *b*\n",
    "long code": LONG_CODE,
    "direction": "שלום \u202eevil\u202c \u2067rtl\u2069 \u2066open\nnext \u200fmark\n",
    "very long": LONG_TEXT,
    "tight emphasis": "a**b**c **中文**字 \\*esc\\* snake_case_name ~~gone~~\n",
    "tasks, quotes, rule": "- [ ] todo\n- [x] done\n\n> one\n> > two\n\n---\n\nend\n",
    "html, image, footnote": (
        "<b>bold</b> ![logo](https://a.example/l.png) note[^1]\n\n[^1]: the note\n"
    ),
    "pings in code": "Run `<!channel>` or `<@U1>`:\n\n```\n<!here>\n<!subteam^S1>\n```\n",
}
