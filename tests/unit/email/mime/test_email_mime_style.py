"""What of a mail's HTML its reader sees: styles as browsers take them."""

from __future__ import annotations

import pytest

from channels.email.mime.html.declared import declared
from channels.email.mime.html.style import Look, Sheet, looked, sheet

HIDING = (
    "display:none",
    "DISPLAY : NONE",
    "font-size:0px",
    "font-size:1px",
    "font:0px/0 a",
    "font:0/0 a",
    "display:/* no */none ! important",
    "color:transparent",
    "color:rgba(0,0,0,0)",
    "color:#00000000",
    "color:hsl(0,0%,100%)",
    "color:#fefefe",
    "position:absolute;left:-5000px",
    "height:0;overflow:hidden",
    "opacity:0.0",
    "visibility:hidden",
    "font-size:.02em",
    "opacity:5%",
    "filter:opacity(0)",
    "-webkit-filter: blur(2px) opacity( 4% )",
    "filter:blur(1em)",
    "transform:scale(0)",
    "transform:translate(4px) scale(1, .01)",
    "-webkit-transform:scale3d(0,1,1)",
    "transform:matrix(1,0,0,0,0,0)",
    "transform:matrix(1,0,0,1,-9999,0)",
    "transform:matrix3d(1,0,0,0,0,0,0,0,0,0,1,0,0,0,0,1)",
    "transform:rotateX(90deg)",
    "transform:rotate3d(0,1,0,.25turn)",
    "transform:translate(-9999px, 0)",
    "transform:translateX(-100%)",
    "transform:translateX(calc(-100vw - 3px))",
    "transform:translate3d(0,-100em,0)",
    "scale:0",
    "scale:1 0%",
    "translate:-200vw",
    "rotate:y 90deg",
    "zoom:.01",
    "clip-path:inset(50%)",
    "clip-path:inset(0 100% 0 0 round 3px)",
    "clip-path:circle(0)",
    "clip-path:circle(10% at 200% 50%)",
    "clip-path:ellipse(0 50%)",
    "clip-path:polygon(0 0, 0 0, 0 0)",
    "clip-path:polygon(0% 0%, 100% 100%)",
    "clip-path:polygon(200% 200%, 300% 200%, 300% 300%)",
    "clip-path:rect(0 0 0 0)",
    "clip-path:xywh(0 0 0 100%)",
    "position:absolute;clip:rect(1px,1px,1px,1px)",
    "position:absolute;clip:rect(0 0 0 0)",
    "mask:linear-gradient(transparent,transparent)",
    "-webkit-mask-image:linear-gradient(to right, rgba(0,0,0,0) 0%, #0000 100%)",
    "mask-image:url(#nothing)",
    "mask:url('data:image/svg+xml,x')",
    "mask-size:0 0;mask-image:linear-gradient(#000,#000)",
    "content-visibility:hidden",
    "-webkit-text-fill-color:transparent",
    "position:absolute;left:-100em",
    "position:absolute;right:9999px",
    "position:fixed;inset:-9999px auto auto",
    "margin-top:calc(-1 * 9999px)",
    "letter-spacing:-9999px",
    "overflow:hidden;height:0%",
    "margin:0 0 0 -9999px",
    "margin-left:calc(-100% + 1px)",
    "left:calc(-100vw - 3px);position:fixed",
    "rotate:90deg x",
    "rotate:0 1 0 90deg",
    "clip-path:circle(1px)",
    "clip-path:inset(49.9% round 3px)",
    "color:#fff;-webkit-text-fill-color:currentcolor",
    "background:#fff;-webkit-background-clip:text;color:transparent",
)
SHOWING = (
    "font-size:1rem",
    "overflow:hidden;height:1em",
    "overflow:hidden;width:100%",
    "position:absolute;top:1200px;left:40px",
    "position:absolute;clip:rect(0,200px,40px,0)",
    "clip:rect(0,0,0,0)",
    "transform:none",
    "transform:translate(-50%,-50%)",
    "transform:translateY(-100%)",
    "transform:translate(12px, -4px) rotate(-3deg) scale(.9)",
    "transform:rotate(180deg)",
    "transform:rotateY(20deg)",
    "transform:scaleZ(0)",
    "transform:matrix(1,0,0,1,0,0)",
    "transform:matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1)",
    "transform:scale(var(--s))",
    "transform:scale(",
    "scale:1",
    "zoom:0",
    "zoom:1",
    "filter:none",
    "filter:alpha(opacity=0)",
    "filter:drop-shadow(0 0 4px rgba(0,0,0,0))",
    "filter:opacity(60%) blur(1px) grayscale(1)",
    "clip-path:none",
    "clip-path:inset(0)",
    "clip-path:inset(0 0 0 0 round 12px)",
    "clip-path:inset(10px)",
    "clip-path:circle(50%)",
    "clip-path:circle()",
    "clip-path:ellipse(60% 40% at 50% 50%)",
    "clip-path:polygon(0 0, 100% 0, 100% 85%, 0 100%)",
    "clip-path:rect(0 auto auto 0)",
    "clip-path:url(#wave)",
    "mask:none",
    "mask-image:linear-gradient(to bottom, black 80%, transparent)",
    "mask-image:linear-gradient(rgba(0,0,0,1), rgba(0,0,0,0))",
    "mask-image:url(https://cdn.example/torn.png)",
    "letter-spacing:-.5px",
    "margin-top:-20px",
    "margin:-20px auto 0 -20px",
    "margin:0 -9999px;padding:0 9999px",
    "margin-left:calc(100% - 600px)",
    "margin-left:-100%;float:left;width:100%",
    "margin-left:-100%;display:inline-block",
    "margin-top:-100%",
    "position:absolute;left:calc(100% - 40px)",
    "position:absolute;top:-100%",
    "transform:translate(-50%,-100%)",
    "transform:translateX(calc(100% - 40px))",
    "transform:translateZ(-1000px) translate3d(0,0,-1000px)",
    "translate:-50% -100%",
    "clip-path:circle(24px at 24px 24px)",
    "clip-path:circle(closest-side)",
    "clip-path:polygon(0 0,100px 0,100px 12px,0 12px)",
    "clip-path:xywh(0 0 60px 20px)",
    "background-image:linear-gradient(90deg,red,blue);background-clip:text;-webkit-text-fill-color:transparent",
    "background:red;-webkit-background-clip:text;color:transparent",
    "background:linear-gradient(red,blue);-webkit-background-clip:text;-webkit-text-fill-color:transparent",
    "transform:scale(1e99)",
    "transform:rotateX(1e99deg)",
    "scale:.",
    "font:400 12px/1.5 a",
    "color:#000000ff",
    "color:rgba(0,0,0,.6)",
    "background:#fff0;color:hsl(0,0%,0%)",
    "font-size:small",
    "color:#eee",
    "color:#fff;background:#000",
    "color:#fff;background:url(x)",
    "margin-left:-10px",
    "height:0",
    "opacity:.5",
    "mso-hide:all",
    "nonsense",
)


def test_what_a_style_hides() -> None:
    hidden = {each: looked(Look(), "p", {"style": each}, Sheet({})).hidden for each in HIDING}
    shown = {each: looked(Look(), "p", {"style": each}, Sheet({})).hidden for each in SHOWING}
    assert all(hidden.values()), hidden
    assert not any(shown.values()), shown


@pytest.mark.parametrize(
    ("hiding", "passed_over"),
    [
        ("display:none", "display:shown"),
        ("display:none", "display:"),
        ("display:none", "display:block none"),
        ("display:none", "display:block!imp"),
        ("display:none", "display:block !important!important"),
        ("display:none", "-moz-display:block"),
        ("display:none", "x:(;display:block;)"),
        ("display:none", "background:url(data:image/png;display:block)"),
        ("d\\69splay:n\\6fne", "dis play:block"),
        ("visibility:hidden", "visibility:inherit none"),
        ("color:#fff", "color:nonsense"),
        ("color:#fff", "color:#12345"),
        ("color:#fff", "color:rgb(0)"),
        ("font-size:0", "font-size:12foo"),
        ("font-size:0", "font-size:-12px"),
        ("font-size:0", "font:12px"),
        ("font-size:0", "font-size:calc(nonsense)"),
        ("font-size:12px;font:0/0 a", "font:bold"),
        ("opacity:0", "opacity:1px"),
        ("transform:scale(0)", "transform:scale(1 1)"),
        ("transform:scale(0)", "transform:foo(1)"),
        ("transform:scale(0)", "-ms-transform:none"),
        ("scale:0", "scale:1,1"),
        ("rotate:y 90deg", "rotate:w 0deg"),
        ("translate:-200vw", "translate:1"),
        ("zoom:.01", "zoom:-1"),
        ("filter:opacity(0)", "filter:opacity(-1)"),
        ("filter:opacity(0)", "filter:alpha(opacity=100)"),
        ("position:absolute;left:-5000px", "position:here;left:none"),
        ("margin-left:0;margin:0 0 0 -9999px", "margin:0 a"),
        ("text-indent:-9999px", "text-indent:1px 1px"),
        ("letter-spacing:-9999px", "letter-spacing:wide"),
        ("overflow:visible;height:0;overflow-y:hidden", "overflow:shown;height:-1px"),
        ("clip-path:inset(50%)", "clip-path:inset()"),
        ("clip-path:inset(50%)", "clip-path:polygon(a b)"),
        ("position:absolute;clip:rect(0 0 0 0)", "clip:rect(1px)"),
        ("mask-image:none;mask:url(#nothing)", "mask:red"),
        ("mask:url(#nothing)", "mask-image:linear-gradient(nonsense,x)"),
        ("background-color:#000;background:#fff;color:#fff", "background:red blue"),
        ("content-visibility:hidden", "content-visibility:shown"),
    ],
)
def test_a_declaration_that_isnt_valid_changes_nothing(hiding: str, passed_over: str) -> None:
    def hidden(*styles: str) -> bool:
        return looked(Look(), "p", {"style": ";".join(styles)}, Sheet({})).hidden

    assert hidden(hiding)
    assert hidden(hiding, passed_over)
    assert hidden(f"{hiding}!important", passed_over)
    assert not hidden(passed_over)


@pytest.mark.parametrize(
    ("hiding", "showing"),
    [
        ("display:none", "display:-webkit-box"),
        ("display:none", "display:inline flow-root"),
        ("display:none", "display:var(--x)"),
        ("display:none", "display:initial"),
        ("color:#fff", "color:rebeccapurple"),
        ("color:#fff", "color:rgb(10 20 30 / 90%)"),
        ("color:#fff", "background:url('a;b)') no-repeat center / cover"),
        ("color:#fff", "background:#000 none repeat scroll 0 0"),
        ("font-size:0", "font:italic 400 12px/1.5 a, 'b c'"),
        ("font-size:0", "font-size:clamp(1rem, 2vw + 3px, 20px)"),
        ("font-size:0", "font-size:14"),
        ("opacity:0", "opacity:.9e0"),
        ("transform:scale(0)", "-webkit-transform:none"),
        ("transform:scale(0)", "transform:perspective(4px) rotate3d(0,1,0,4deg) translate(-50%)"),
        ("filter:opacity(0)", "filter:drop-shadow(0 0 4px rgb(0 0 0 / 1)) blur()"),
        ("clip-path:inset(50%)", "clip-path:ellipse(60% 40% at 50% 50%) border-box"),
        ("margin-left:-9999px", "margin:0 calc(1px + 2%) auto"),
        ("mask:url(#nothing)", "mask:linear-gradient(to right, red 10%, blue) 0 0 / cover"),
    ],
)
def test_the_last_valid_declaration_counts(hiding: str, showing: str) -> None:
    def hidden(style: str) -> bool:
        return looked(Look(), "p", {"style": style}, Sheet({})).hidden

    assert hidden(f"{showing};{hiding}") or "background" in showing
    assert not hidden(f"{hiding};{showing}")


def test_what_is_as_around_it_is_as_hidden() -> None:
    def hidden(around: str, style: str) -> bool:
        above = looked(Look(), "div", {"style": around}, Sheet({}))
        return looked(above, "p", {"style": style}, Sheet({})).hidden

    assert hidden("visibility:hidden", "visibility:inherit")
    assert hidden("font-size:0", "font-size:larger")
    assert hidden("font-size:0", "font-size:2ex")
    assert not hidden("visibility:hidden", "visibility:initial")
    assert not hidden("font-size:0", "font-size:2rex")


def test_what_is_important_stays() -> None:
    rules = sheet(".h{display:none!important} .s{display:block ! IMPORTANT}", Sheet({}))

    def hidden(style: str, name: str = "") -> bool:
        return looked(Look(), "p", {"style": style, "class": name}, rules).hidden

    assert hidden("display:none!important;display:block")
    assert hidden("display:block", "h")
    assert not hidden("display:block!important", "h")
    assert not hidden("display:none;display:block")
    assert not hidden("display:none", "s")
    assert not sheet("td .x{background:#333!important}", Sheet({})).colours


def test_a_sheet_counts_for_what_it_names() -> None:
    rules = sheet("/* .a{} */ .A, #b { color: red } @media x { i { display:none } } p{}", Sheet({}))
    assert rules.rules == {".a": declared("color:red"), "#b": declared("color:red"), "p": {}}
    assert rules.colours
