"""Whether a person would see an element: what its style, its sheet and its old attributes say. Only what is
plainly meant to hide counts; a colour that can't be read hides nothing."""

from __future__ import annotations

from typing import Final

from channels.email.mime.html import shape
from channels.email.mime.html.declared import Declared, declared, uncommented
from gateway.engine.struct import replace, struct

Colour = tuple[int, int, int]

_NAMED: Final[dict[str, Colour]] = {
    "white": (255, 255, 255),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "navy": (0, 0, 128),
    "yellow": (255, 255, 0),
    "orange": (255, 165, 0),
}
_ALIKE: Final = 8
"""Colours this near to each other, channel by channel, can't be told apart."""
_FAINT: Final = 0.1
_MOST_RULES: Final = 2_000
_COLOURS: Final = ("color", "background-color")
_INHERITS: Final = frozenset({"inherit", "unset", "revert", "revert-layer"})


@struct(frozen=True, slots=True)
class Look:
    """``gone`` can't be taken back further inside; the other ways to hide can. ``scale``, ``opaque``: how much is
    left of its size and its colours, by all around it, too."""

    gone: bool = False
    scale: float = 1.0
    opaque: float = 1.0
    unseen: bool = False
    tiny: bool = False
    colour: Colour | None = (0, 0, 0)
    ground: Colour | None = (255, 255, 255)

    @property
    def hidden(self) -> bool:
        if self.gone or self.unseen or self.tiny or min(self.scale, self.opaque) < _FAINT:
            return True
        if self.colour is None or self.ground is None:
            return False
        return all(abs(a - b) <= _ALIKE for a, b in zip(self.colour, self.ground, strict=True))


@struct(frozen=True, slots=True)
class Sheet:
    """The rules of a style sheet that name one element, class or id. ``colours``: whether colours can be
    relied on: not where rules that aren't understood set some."""

    rules: dict[str, Declared]
    colours: bool = True


def sheet(source: str, before: Sheet) -> Sheet:
    """With what this style sheet adds. What stands in ``@media`` is for other screens."""
    rules, colours = dict(before.rules), before.colours
    source = uncommented(source)
    at = 0
    while len(rules) < _MOST_RULES and (begin := source.find("{", at)) >= 0:
        selector = source[at:begin].rpartition(";")[2].strip()
        if selector.startswith("@"):
            at = _block_end(source, begin)
            continue
        end = source.find("}", begin)
        end = len(source) if end < 0 else end
        said = declared(source[begin + 1 : end])
        for each in selector.lower().split(","):
            name = each.strip()
            if name.lstrip(".#").replace("-", "").replace("_", "").isalnum():
                rules[name] = rules.get(name, {}) | said
            elif any(key.removeprefix("!") in _COLOURS for key in said):
                colours = False
        at = end + 1
    return Sheet(rules, colours)


def _block_end(source: str, begin: int) -> int:
    """Behind the block that opens here, those in it included."""
    depth, at = 0, begin
    while True:
        closing = source.find("}", at)
        if closing < 0:
            return len(source)
        depth += source.count("{", at, closing) - 1
        at = closing + 1
        if depth <= 0:
            return at


def looked(above: Look, name: str, attributes: dict[str, str], rules: Sheet) -> Look:
    """How an element looks inside of ``above``."""
    said: Declared = {}
    if rules.rules:
        keys = [name, *(f".{each}" for each in attributes.get("class", "").lower().split()[:20])]
        keys.append(f"#{attributes.get('id', '').lower()}")
        for key in keys:
            said |= rules.rules.get(key, {})
    if style := attributes.get("style"):
        said |= declared(style)
    said |= {key[1:]: value for key, value in said.items() if key.startswith("!")}
    look = _coloured(above, attributes, said, sure=rules.colours)
    gone = above.gone or "hidden" in attributes or _gone(said)
    if not said:
        return replace(look, gone=gone) if gone is not above.gone else look
    return replace(
        look,
        gone=gone,
        scale=above.scale * shape.scaled(said),
        opaque=above.opaque * shape.opaque(said),
        unseen=_unseen(above, said),
        tiny=_tiny(above, said),
    )


def _gone(said: Declared) -> bool:
    """What only one program hides, as Outlook does for ``mso-hide``, all others show: that counts as seen."""
    if said.get("display") == "none" or said.get("content-visibility") == "hidden":
        return True
    return shape.away(said) or shape.cut(said)


def _unseen(above: Look, said: Declared) -> bool:
    visibility = said.get("visibility", "inherit")
    if visibility in _INHERITS:
        return above.unseen
    return visibility in {"hidden", "collapse"}


def _tiny(above: Look, said: Declared) -> bool:
    size = said.get("font-size", "inherit")
    if size in _INHERITS or size in {"smaller", "larger"}:
        return above.tiny
    if shape.relative(size):
        return above.tiny or shape.fraction(size) < _FAINT
    return shape.pixels(size) <= 1


def _coloured(above: Look, attributes: dict[str, str], said: Declared, *, sure: bool) -> Look:
    if not sure:
        return above if above.colour is None else replace(above, colour=None)
    colour, ground = above.colour, _ground(above.ground, attributes, said)
    if "color" in attributes:
        colour = _colour(attributes["color"])
    for name in ("color", "text-fill-color"):
        value = said.get(name, "inherit")
        if value != "currentcolor" and value not in _INHERITS:
            colour = ground if shape.clear(value) else _colour(value)
    if said.get("background-clip") == "text":
        ground = above.ground  # its own is seen through the letters only
    if colour is above.colour and ground is above.ground:
        return above
    return replace(above, colour=colour, ground=ground)


def _ground(ground: Colour | None, attributes: dict[str, str], said: Declared) -> Colour | None:
    if "bgcolor" in attributes:
        ground = _colour(attributes["bgcolor"])
    if "background" in attributes or "(" in said.get("background-image", ""):
        ground = None
    own = said.get("background-color", "none")
    if own not in {"transparent", "none", "initial", *_INHERITS}:
        ground = _colour(own)
    return ground


def _colour(value: str) -> Colour | None:
    value = value.strip().lower()
    if value in _NAMED:
        return _NAMED[value]
    digits = value.removeprefix("#")
    if len(digits) in {3, 4}:
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) == 8 and digits.endswith("ff"):  # and not transparent
        digits = digits[:6]
    if len(digits) == 6 and not digits.strip("0123456789abcdef"):
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16))
    parts = shape.arguments(value)
    if len(parts) == 4 and parts.pop() not in {"1", "1.0", "100%"}:
        return None
    if value.startswith("hsl"):
        return {"0%": _NAMED["black"], "100%": _NAMED["white"]}.get(parts[-1] if parts else "")
    if len(parts) == 3 and all(part.isdecimal() and len(part) < 4 for part in parts):
        return (int(parts[0]), int(parts[1]), int(parts[2]))
    return None
