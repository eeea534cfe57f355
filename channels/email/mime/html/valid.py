"""Whether a browser takes a declaration: an invalid one is dropped, and what was declared before it stays
(CSS Syntax §2.2). Only what decides whether text is seen is known here; nothing else is kept. Pure, linear.

Numbers without a unit are lengths where mail without a doctype takes them for such (Quirks Mode §3.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Final

from channels.email.mime.html import names

LONGEST: Final = 4_000
"""Characters of a value. A longer one is a picture's data, or nothing."""
WIDE: Final = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})

_SIGN: Final = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"?|'(?:[^'\\]++|\\.)*+'?|[(),/]|\s++", re.DOTALL)
_NUMBER: Final = re.compile(r"([+-]?)(\d++(?:\.\d++)?+|\.\d++)(?:e[+-]?\d++)?+(%|[a-z]*+)")
_NAME: Final = re.compile(r"[\"']|-*+[^\W\d]")
_TERMS: Final = re.compile(r"[\s,*/()]++|[+-](?=\s)")
_HEX: Final = re.compile(r"#?(?:[0-9a-f]{3}){1,2}|#(?:[0-9a-f]{4}){1,2}")
# Of each function its arguments: what kinds, how few, how many.
_TRANSFORMS: Final[Mapping[str, tuple[str, int, int]]] = {
    "translate": ("lp", 1, 2),
    **dict.fromkeys(("translatex", "translatey"), ("lp", 1, 1)),
    "translatez": ("l", 1, 1),
    "translate3d": ("lp", 3, 3),
    "scale": ("np", 1, 2),
    **dict.fromkeys(("scalex", "scaley", "scalez"), ("np", 1, 1)),
    "scale3d": ("np", 3, 3),
    **dict.fromkeys(("rotate", "rotatex", "rotatey", "rotatez", "skewx", "skewy"), ("a", 1, 1)),
    "skew": ("a", 1, 2),
    "rotate3d": ("na", 4, 4),
    "matrix": ("n", 6, 6),
    "matrix3d": ("n", 16, 16),
    "perspective": ("l", 1, 1),
}
_FILTERS: Final[Mapping[str, tuple[str, int, int]]] = {
    "blur": ("l", 0, 1),
    "hue-rotate": ("a", 0, 1),
    **dict.fromkeys(
        names.these("brightness contrast grayscale invert opacity saturate sepia"), ("np", 0, 1)
    ),
}


@lru_cache(maxsize=1_024)
def valid(name: str, value: str) -> bool:
    """Both in lower case, the value without blanks around it and without its ``!important``."""
    rule = _RULES.get(name)
    if rule is None:
        return False
    if not value or len(value) > LONGEST:
        return "url(" in value
    if value in WIDE or "var(" in value or "env(" in value:
        return True
    return rule(words(value))


def words(value: str) -> list[str]:
    """What stands beside one another, a function whole, and the commas and slashes between."""
    found: list[str] = []
    depth = begin = 0
    for match in _SIGN.finditer(value):
        sign = match[0][0]
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        elif depth == 0 and sign not in "\"'":
            found += [value[begin : match.start()], sign.strip()]
            begin = match.end()
    return [each for each in (*found, value[begin:]) if each]


# -- one word ------------------------------------------------------------------------------------------
def is_a(word: str, kinds: str, *, negative: bool = True) -> bool:
    """Whether it is a number, a percentage, a length, an angle, a colour or an image: ``n p l a c i``."""
    if match := _NUMBER.fullmatch(word):
        unit = match[3]
        if match[1] == "-" and not negative and match[2].strip("0."):
            return False
        if unit:
            kind = (
                "l"
                if unit in names.LENGTHS
                else "a"
                if unit in names.ANGLES
                else unit.replace("%", "p")
            )
            return kind in kinds
        return (
            "n" in kinds
            or ("q" in kinds)
            or (not match[2].strip("0.") and bool({*"la"} & {*kinds}))
        )
    name, inner = _call(word)
    if name in names.MATHS:
        return bool({*"nlpa"} & {*kinds}) and _counts(inner, kinds)
    if "c" in kinds and _colour(word, name, inner):
        return True
    return "i" in kinds and name in names.IMAGES and _pictures(name, inner)


def _call(word: str) -> tuple[str, str]:
    name, opened, inner = word.partition("(")
    if not opened:
        return "", ""
    return name, inner.removesuffix(")")


def _counts(sum_of: str, kinds: str) -> bool:
    given = [each for each in _TERMS.split(sum_of) if each and each not in {"+", "-"}]
    terms = [each for each in given if each not in names.CONSTANTS]
    if not given or not all(is_a(each, f"{kinds}n") for each in terms):
        return False
    return "n" in kinds or any(not is_a(each, "n") for each in terms)


def _colour(word: str, name: str, inner: str) -> bool:
    if not name:
        return word in names.NAMED or _HEX.fullmatch(word) is not None
    if name not in names.COLOURS:
        return False
    given = [each for each in words(inner) if each not in {",", "/"}]
    if name in {"color", "color-mix", "light-dark"} or given[:1] == ["from"]:
        return len(given) > 1
    return len(given) in {3, 4} and all(each == "none" or is_a(each, "npa") for each in given)


def _pictures(name: str, inner: str) -> bool:
    if name not in names.GRADIENTS or name.startswith("-"):
        return name == "url" or bool(inner)
    given = words(inner)
    return bool(given) and all(
        each == "," or each in names.OF_IMAGES or is_a(each, "lpac") for each in given
    )


# -- one value -----------------------------------------------------------------------------------------
Rule = Callable[[list[str]], bool]


def _of(kinds: str, keywords: Iterable[str] = (), most: int = 1, *, negative: bool = True) -> Rule:
    """So many words of these kinds, or these themselves."""
    known = frozenset(keywords)
    return lambda given: (
        0 < len(given) <= most
        and ("none" not in given or len(given) == 1)
        and all(each in known or is_a(each, kinds, negative=negative) for each in given)
    )


def _calls(functions: Mapping[str, tuple[str, int, int]], *, negative: bool) -> Rule:
    def fits(word: str) -> bool:
        name, inner = _call(word)
        if name == "url" or (name == "drop-shadow" and functions is _FILTERS):
            return functions is _FILTERS
        if name not in functions:
            return False
        kinds, least, most = functions[name]
        given = words(inner)
        single, commas = given[::2], given[1::2]
        if any(each != "," for each in commas) or (given and len(given) % 2 == 0):
            return False
        return least <= len(single) <= most and all(
            is_a(each, kinds, negative=negative) for each in single
        )

    return lambda given: given == ["none"] or (bool(given) and all(map(fits, given)))


def _font(given: list[str]) -> bool:
    """A size, and behind it a family."""
    return font_size(given) != "" or (len(given) == 1 and given[0] in names.SYSTEM_FONTS)


def font_size(given: list[str]) -> str:
    """Of the words of a ``font`` the size; empty where it has none, or no family behind it."""
    for at, word in enumerate(given):
        if word in names.SIZES or is_a(word, "lp", negative=False):
            family = given[at + 3 if given[at + 1 : at + 2] == ["/"] else at + 1 :]
            named = all(each == "," or _NAME.match(each) for each in family)
            return word if family and named and "," not in {family[0], family[-1]} else ""
        if word not in names.BEFORE_SIZE and not is_a(word, "na", negative=False):
            return ""
    return ""


def _turned(given: list[str]) -> bool:
    """``rotate``: an angle, around one of three axes or any."""
    angles = [each for each in given if is_a(each, "a") and not is_a(each, "n")]
    around = [each for each in given if each not in angles]
    numbers = len(around) == 3 and all(is_a(each, "n") for each in around)
    return given == ["none"] or (
        len(angles) == 1 and (numbers or not around or (len(around) == 1 and around[0] in "xyz"))
    )


def _clip(given: list[str]) -> bool:
    name, inner = _call(given[0]) if len(given) == 1 else ("", "")
    sides = [each for each in words(inner) if each != ","]
    return given == ["auto"] or (
        name == "rect"
        and len(sides) == 4
        and all(each == "auto" or is_a(each, "lq") for each in sides)
    )


def _clip_path(given: list[str]) -> bool:
    def fits(word: str) -> bool:
        name, inner = _call(word)
        if name in {"url", "path", "shape"}:
            return name == "url" or bool(inner)
        if name not in _SHAPED:
            return word in names.BOXES
        said = words(inner)
        sizes = list(takewhile(lambda each: each not in _UP_TO, said))
        return len(sizes) in _SHAPED[name] and all(
            each in names.SHAPES or (each == "," and name == "polygon") or is_a(each, "lp")
            for each in said
        )

    return given == ["none"] or (0 < len(given) <= 2 and all(map(fits, given)))


def _layers(rule: Rule) -> Rule:
    """Any number, with commas between."""

    def fits(given: list[str]) -> bool:
        layers: list[list[str]] = [[]]
        for each in given:
            if each == ",":
                layers.append([])
            else:
                layers[-1].append(each)
        return all(map(rule, layers))

    return fits


def _layer(kinds: str, keywords: frozenset[str]) -> Rule:
    """A place, behind a slash a size, and a picture and a colour at most."""

    def fits(given: list[str]) -> bool:
        at = given.index("/") if "/" in given else len(given)
        size = [each for each in given[at + 1 : at + 3] if is_a(each, "lp") or each in names.COVERS]
        others = given[:at] + given[at + 1 + len(size) :]
        counted = [sum(is_a(each, kind) for each in others) for kind in ("lp", "c", "i")]
        return (
            (at == len(given) or bool(size))
            and bool(others)
            and counted[0] <= 2
            and max(counted[1], counted[2] + others.count("none")) <= 1
            and all(each in keywords or is_a(each, kinds) for each in others)
        )

    return fits


def _ground(given: list[str]) -> bool:
    """A colour has the last layer only."""
    last = len(given) - 1 - given[::-1].index(",") if "," in given else 0
    return _GROUND(given) and not any(is_a(each, "c") for each in given[:last])


_GROUND: Final = _layers(_layer("lpci", names.GROUNDS))
_UP_TO: Final = frozenset({"round", "at"})
# Of each shape, how many sizes it has.
_SHAPED: Final[Mapping[str, Container[int]]] = {
    "inset": range(1, 5),
    "circle": range(2),
    "ellipse": (0, 2),
    "polygon": range(2, LONGEST),
    "rect": (4,),
    "xywh": (4,),
}
_HANGS: Final = frozenset({"hanging", "each-line"})
_SIDE: Final = _of("lpq", {"auto"})


def _display(given: list[str]) -> bool:
    if len(given) == 1:
        return given[0] in names.DISPLAYS or given[0] == "flow"
    return 1 < len(given) <= 3 and len({*given}) == len(given) and names.INSIDES.issuperset(given)


_RULES: Final[Mapping[str, Rule]] = {
    "display": _display,
    "visibility": _of("", {"visible", "hidden", "collapse"}),
    "content-visibility": _of("", {"visible", "hidden", "auto"}),
    "position": _of("", {"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"}),
    "float": _of("", {"none", "left", "right", "inline-start", "inline-end"}),
    "overflow": _of("", names.FLOWS, 2),
    "overflow-y": _of("", names.FLOWS),
    "font-size": _of("lpq", names.SIZES, negative=False),
    "font": _font,
    "opacity": _of("np"),
    "zoom": _of("np", {"normal"}, negative=False),
    "scale": _of("np", {"none"}, 3),
    "translate": _of("lp", {"none"}, 3),
    "rotate": _turned,
    "transform": _calls(_TRANSFORMS, negative=True),
    "filter": _calls(_FILTERS, negative=False),
    **dict.fromkeys(("width", "height"), _of("lpq", names.FITTING, negative=False)),
    **dict.fromkeys(
        ("max-width", "max-height"),
        _of("lpq", (names.FITTING - {"auto"}) | {"none"}, negative=False),
    ),
    "margin": _of("lpq", {"auto"}, 4),
    "inset": _of("lp", {"auto"}, 4),
    **dict.fromkeys(("inset-inline", "inset-block"), _of("lp", {"auto"}, 2)),
    **dict.fromkeys(names.these("margin-top margin-left top right bottom left"), _SIDE),
    "margin-inline-start": _of("lp", {"auto"}),
    "text-indent": lambda given: (
        _of("lpq", _HANGS, 3)(given) and sum(each not in _HANGS for each in given) == 1
    ),
    "letter-spacing": _of("lpq", {"normal"}),
    "clip": _clip,
    "clip-path": _clip_path,
    "mask": _layers(_layer("lpi", names.MASKS)),
    "mask-image": _layers(_of("i", {"none"})),
    "mask-size": _layers(_of("lp", names.COVERS, 2, negative=False)),
    **dict.fromkeys(("color", "background-color"), _of("c")),
    "text-fill-color": _of("c"),
    "background": _ground,
    "background-image": _layers(_of("i", {"none"})),
    "background-clip": _layers(_of("", names.BOXES | {"text", "border-area"})),
}
