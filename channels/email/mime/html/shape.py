"""What a style leaves of an element's box: how far off it is moved, how small it is made, how much is cut off,
how much shows through. Numbers, not names of tricks: each property comes down to one of the four.

What can't be counted (``var()``, a keyword) leaves all of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from channels.email.mime.html.valid import LONGEST

_FAR: Final = 900.0
"""Pixels: as wide as a page. What is moved by that isn't on it any more."""
_BACK: Final = -0.8 * _FAR
"""A sum that leads so far back leaves an edge at most."""
_SLIVER: Final = 0.002
_SPECK: Final = 0.0001
"""What is too little of a box to read anything in, and of one as large as a page, which lengths are parts of."""
_BLURRED: Final = 8.0

_ONE: Final = ("px", "pt", "pc", "cm", "mm", "q", "in", "em", "rem", "ex", "ch", "")
_MANY: Final = (1, 4 / 3, 16, 37.8, 3.78, 0.945, 96, 16, 16, 8, 8, 1)
_OF_THE_PAGE: Final = ("vw", "vh", "vmin", "vmax", "svw", "svh", "lvw", "lvh", "dvw", "dvh")
_OF_ALL: Final = ("%", *_OF_THE_PAGE)
_PIXELS: Final[Mapping[str, float]] = {
    **dict(zip(_ONE, _MANY, strict=True)),
    **dict.fromkeys(_OF_THE_PAGE, _FAR / 100),
}
_OF_LETTERS: Final = frozenset({"em", "ex", "ch", "cap", "ic", "lh"})
_DEGREES: Final[Mapping[str, float]] = {"deg": 1, "": 1, "grad": 0.9, "turn": 360, "rad": 57.2958}
_NUMBER: Final = re.compile(
    r"([+-]?(?:\d{1,12}+(?:\.\d{0,12}+)?+|\.\d{1,12}+)(?:e[+-]?\d{1,2}+)?+)(%|[a-z]*+)"
)
_CALL: Final = re.compile(r"(?<![a-z0-9-])([a-z0-9-]++)\(((?:[^()]++|\([^()]*+\))*+)\)")
_SIGN: Final = re.compile(r"([+-])\s++")
_MOVES: Final = frozenset({"translate", "translatex", "translatey", "translate3d"})
_SCALES: Final = frozenset({"scale", "scalex", "scaley", "scale3d"})
_TURNS: Final = frozenset({"rotatex", "rotatey", "skew", "skewx", "skewy"})
_DIRECTIONS: Final = frozenset({"to", "from", "at", "in", "circle", "ellipse", "closest-side"})
_MARGINS: Final = ("margin-left", "margin-inline-start")
_ALWAYS: Final = ("text-indent", *_MARGINS, "margin-top", "letter-spacing")
_UPRIGHT: Final = ("margin-top", "top", "bottom", "inset-block", "translatey")
_PLACED: Final = ("left", "top", "right", "bottom", "inset", "inset-inline", "inset-block")

Said = Mapping[str, str]


def pixels(value: str, of: float = math.nan) -> float:
    """The length that a value begins with; ``of`` is what 100 % are. Not a number where there is none."""
    match = _NUMBER.match(value)
    if match is None:
        return math.nan
    return float(match[1]) * (of / 100 if match[2] == "%" else _PIXELS.get(match[2], math.nan))


def relative(value: str) -> bool:
    """To the size of the letters around it."""
    match = _NUMBER.match(value)
    unit = "" if match is None else match[2]
    return unit == "%" or unit in _OF_LETTERS


def fraction(value: str) -> float:
    """Of 1, also as a percentage; 1 where there is none."""
    match = _NUMBER.match(value)
    return 1.0 if match is None else float(match[1]) / (100 if match[2] == "%" else 1)


def away(said: Said) -> bool:
    """It is moved off the page."""
    moved = said.get("position") in {"absolute", "fixed", "relative", "sticky"}
    # Beside others its own width leads back over them, as a column or words on a picture.
    beside = said.get("float", "none") != "none" or said.get("display", "").startswith("inline")
    own = _UPRIGHT + (_MARGINS if beside else ())
    for name in (*_ALWAYS, *(_PLACED if moved else ())):
        value = said.get(name, "")
        # To the right and below a page goes on, but for what is held away from its right side.
        if ("-" in value or name == "right") and _far(value, 100.0 if name in own else _FAR):
            return True
    aside, _, upright = said.get("translate", "").partition(" ")
    if _far(aside) or _far(upright, 100.0):
        return True
    for name, given in _calls(said.get("transform", "")):
        if name in _MOVES:
            aside, _, upright = given.partition(",")
            if name == "translate3d":  # nearer to the reader it is still on the page
                upright = upright.rpartition(",")[0]
            # Of its height nobody knows; it isn't a page's.
            if _far(aside, 100.0 if name in own else _FAR) or _far(upright, 100.0):
                return True
        if name.startswith("matrix") and _far(
            " ".join(_words(given)[4 if name == "matrix" else 12 :])
        ):
            return True
    return False


def scaled(said: Said) -> float:
    """By how much it is made smaller, along the side that suffers more."""
    by = 1.0
    if words := _words(said.get("scale", "")):
        by *= min(abs(fraction(each)) for each in words[:2])
    if (zoom := fraction(said.get("zoom", "1"))) > 0:
        by *= zoom
    for name, given in _calls(said.get("transform", "")):
        words = _words(given)
        if name in _SCALES and words:
            by *= min(abs(fraction(each)) for each in words[:2])
        elif name in _TURNS and words:
            by *= min(_edge(each) for each in words[:2])
        elif name == "rotate3d" and len(words) == 4 and fraction(words[2]) == 0:
            by *= _edge(words[3])
        elif name.startswith("matrix") and len(words) in {6, 16}:
            by *= _matrix([fraction(each) for each in words])
    words = _words(said.get("rotate", ""))
    if {"x", "y"} & set(words) or (len(words) == 4 and fraction(words[2]) == 0):
        by *= min(_edge(words[0]), _edge(words[-1]))
    return by


def cut(said: Said) -> bool:
    """Nothing to speak of is left of it."""
    if said.get("overflow-y") in {"hidden", "clip"} and any(
        pixels(said.get(side, "")) <= 1 or fraction(said.get(side, "")) == 0
        for side in ("height", "max-height", "width", "max-width")
    ):
        return True
    if said.get("position") in {"absolute", "fixed"}:
        for name, given in _calls(said.get("clip", "")):
            sides = [pixels(each) for each in _words(given)]
            if name == "rect" and len(sides) == 4 and _thin(sides):
                return True
    for name, given in _calls(said.get("clip-path", "")):
        left = _LEFT.get(name)
        if left is not None and left(given) < (_SPECK if _measured(given) else _SLIVER):
            return True
    return _masked(said)


def opaque(said: Said) -> float:
    """How much of it isn't seen through."""
    by = min(fraction(said.get("opacity", "1")), 1.0)
    for name, given in _calls(said.get("filter", "")):
        if name == "opacity":
            by *= min(fraction(given.strip()), 1.0)
        elif name == "blur" and pixels(given.strip()) >= _BLURRED:
            return 0.0
    return by


# -- what is cut ---------------------------------------------------------------------------------------
def _thin(sides: list[float]) -> bool:
    top, right, bottom, left = sides
    return bottom - top <= 1 or right - left <= 1


def _inset(given: str) -> float:
    top, right, bottom, left = _sides(given.partition("round")[0], 0.0)
    return _area(1 - top - bottom, 1 - left - right)


def _round(given: str) -> float:
    radius, _, middle = given.partition(" at ")
    sizes = [_share(each, 0.5) for each in _words(radius)] or [1.0]
    outside = [abs(_share(each, 0.5) - 0.5) - 0.5 for each in _words(middle)]
    return 0.0 if any(each >= max(sizes) for each in outside) else _area(sizes[0], sizes[-1])


def _polygon(given: str) -> float:
    points: list[tuple[float, float]] = []
    for pair in given.split(","):
        words = [min(max(_share(each), 0.0), 1.0) for each in pair.split() if _NUMBER.match(each)]
        if len(words) == 2:
            points.append((words[0], words[1]))
    if not points:
        return 1.0
    around = pairwise([*points, points[0]])
    return abs(sum(x * v - u * y for (x, y), (u, v) in around)) / 2


def _rect(given: str) -> float:
    top, right, bottom, left = _sides(given, math.nan)
    high = (1 if math.isnan(bottom) else bottom) - (0 if math.isnan(top) else top)
    wide = (1 if math.isnan(right) else right) - (0 if math.isnan(left) else left)
    return _area(high, wide)


def _sides(given: str, unknown: float) -> list[float]:
    """From the top, clockwise; what isn't said is the other side's."""
    said = [_share(each, unknown) for each in _words(given)[:4]] or [unknown]
    return [
        said[0],
        said[min(1, len(said) - 1)],
        said[2 % len(said)],
        said[-1 if len(said) != 3 else 1],
    ]


def _xywh(given: str) -> float:
    sizes = [_share(each) for each in _words(given)][2:4]
    return _area(*sizes) if len(sizes) == 2 else 1.0


_LEFT: Final[Mapping[str, Callable[[str], float]]] = {
    "inset": _inset,
    "circle": _round,
    "ellipse": _round,
    "polygon": _polygon,
    "rect": _rect,
    "xywh": _xywh,
}
"""Of each shape, the part of the box that it leaves."""


def _measured(given: str) -> bool:
    """In lengths, and not as parts of the box alone."""
    return any(match[2] not in {"", "%"} for match in _NUMBER.finditer(given.partition("round")[0]))


def _area(high: float, wide: float) -> float:
    return max(high, 0.0) * max(wide, 0.0)


def _share(word: str, unknown: float = 0.0) -> float:
    """Of the box: a length is one of a box as large as a page, so that little is taken for cut off."""
    found = pixels(word, _FAR) / _FAR
    return unknown if math.isnan(found) else found


def _masked(said: Said) -> bool:
    """Behind a mask that lets nothing through. One that has to be fetched may be anything."""
    size = _words(said.get("mask-size", ""))
    if size and any(pixels(each, _FAR) == 0 for each in size):
        return True
    value = said.get("mask-image", "")
    images = [(name, given) for name, given in _calls(value) if name == "url" or "gradient" in name]
    return bool(images) and not any(_lets_through(name, given) for name, given in images)


def _lets_through(name: str, given: str) -> bool:
    if name == "url":
        return given.strip(" '\"").startswith(("http:", "https:", "cid:", "//"))
    plain = (each.split() for each in _CALL.sub("", given).split(","))
    stops = [f"{inner}({more})" for inner, more in _calls(given)] + [
        each[0] for each in plain if each
    ]
    return not all(clear(each) or each in _DIRECTIONS or _NUMBER.match(each) for each in stops)


def clear(value: str) -> bool:
    """Whether a colour is none: fully transparent."""
    if value.startswith("#"):
        return len(value) in {5, 9} and not value[len(value) * 3 // 4 + 1 :].strip("0")
    parts = arguments(value)
    return value == "transparent" or (len(parts) == 4 and fraction(parts[3]) == 0)


def arguments(value: str) -> list[str]:
    """Of ``rgb()`` and its like, in either spelling; none of anything else."""
    if not value.startswith(("rgb(", "rgba(", "hsl(", "hsla(")):
        return []
    return _words(value.partition("(")[2].partition(")")[0])


# -- what is written -----------------------------------------------------------------------------------
def _calls(value: str) -> Iterator[tuple[str, str]]:
    return ((match[1], match[2]) for match in _CALL.finditer(value[:LONGEST]))


def _words(value: str) -> list[str]:
    return value[:LONGEST].replace(",", " ").replace("/", " ").split()


def _far(value: str, of: float = _FAR) -> bool:
    """A length in it is as long as a page. Parts of the page may make up for each other in a sum."""
    value = _SIGN.sub(r"\1", value[:LONGEST])
    single = [match[0] for match in _NUMBER.finditer(_CALL.sub(" ", value))]
    for _, given in _calls(value):
        terms = [match[0] for match in _NUMBER.finditer(given) if match[2]]
        single += [each for each in terms if not each.endswith(_OF_ALL)]
        left = sum(pixels(each, of) for each in terms)
        if left >= _FAR or left <= _BACK:
            return True
    return any(abs(pixels(each, of)) >= _FAR for each in single)


def _edge(angle: str) -> float:
    """What is seen of a sheet that is turned by so much."""
    match = _NUMBER.match(angle)
    degrees = 0.0 if match is None else float(match[1]) * _DEGREES.get(match[2], 0.0)
    return abs(math.cos(math.radians(degrees)))


def _matrix(m: list[float]) -> float:
    a, b, c, d = (m[0], m[1], m[2], m[3]) if len(m) == 6 else (m[0], m[1], m[4], m[5])
    wide = math.hypot(a, b)
    return min(wide, abs(a * d - b * c) / wide if wide else 0.0)
