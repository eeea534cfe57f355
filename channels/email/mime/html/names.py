"""The words of CSS that decide whether a declaration is valid, as browsers know them."""

from __future__ import annotations

from typing import Final


def these(words: str) -> frozenset[str]:
    return frozenset(words.split())


LENGTHS: Final = these(
    "px pt pc cm mm q in em rem ex rex ch rch cap rcap ic ric lh rlh cqw cqh cqi cqb cqmin cqmax"
) | {f"{size}{side}" for size in ("", "s", "l", "d") for side in these("vw vh vi vb vmin vmax")}
ANGLES: Final = frozenset({"deg", "grad", "rad", "turn"})
MATHS: Final = these(
    "calc min max clamp round mod rem sin cos tan asin acos atan atan2 pow sqrt hypot log exp abs sign"
    " -webkit-calc"
)
CONSTANTS: Final = MATHS | {"e", "pi", "infinity", "-infinity", "nan", "up", "down", "nearest"}
NAMED: Final = these(
    "aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown"
    " burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan"
    " darkgoldenrod darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid"
    " darkred darksalmon darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet"
    " deeppink deepskyblue dimgray dimgrey dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro"
    " ghostwhite gold goldenrod gray green greenyellow grey honeydew hotpink indianred indigo ivory khaki"
    " lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow"
    " lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray"
    " lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine"
    " mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise"
    " mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab"
    " orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru"
    " pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown"
    " seagreen seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan"
    " teal thistle tomato turquoise violet wheat white whitesmoke yellow yellowgreen transparent"
    " currentcolor accentcolor accentcolortext activetext buttonborder buttonface buttontext canvas"
    " canvastext field fieldtext graytext highlight highlighttext linktext mark marktext selecteditem"
    " selecteditemtext visitedtext windowtext window menu menutext infobackground infotext"
)
COLOURS: Final = these("rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark")
GRADIENTS: Final = frozenset(
    f"{again}{kind}-gradient"
    for again in ("", "repeating-", "-webkit-", "-webkit-repeating-")
    for kind in ("linear", "radial", "conic")
)
IMAGES: Final = GRADIENTS | {"url", "image-set", "-webkit-image-set", "-webkit-gradient"}
OF_IMAGES: Final = these(
    "to from at in circle ellipse closest-side closest-corner farthest-side farthest-corner left right top"
    " bottom center hue shorter longer increasing decreasing srgb srgb-linear oklab oklch lab lch hsl hwb"
    " xyz"
)
BOXES: Final = these("border-box padding-box content-box fill-box stroke-box view-box margin-box")
LAYER: Final = BOXES | these(
    "none repeat no-repeat repeat-x repeat-y space round left right top bottom center"
)
GROUNDS: Final = LAYER | {"scroll", "fixed", "local", "text"}
MASKS: Final = LAYER | these("alpha luminance match-source add subtract intersect exclude no-clip")
COVERS: Final = frozenset({"auto", "cover", "contain"})
SHAPES: Final = these("round at auto center left right top bottom nonzero evenodd") | {
    f"{which}-side" for which in ("closest", "farthest")
}
SIZES: Final = these(
    "xx-small x-small small medium large x-large xx-large xxx-large smaller larger"
)
BEFORE_SIZE: Final = these(
    "normal italic oblique small-caps bold bolder lighter ultra-condensed extra-condensed condensed"
    " semi-condensed semi-expanded expanded extra-expanded ultra-expanded"
)
SYSTEM_FONTS: Final = these("caption icon menu message-box small-caption status-bar")
DISPLAYS: Final = these(
    "none contents block inline inline-block flex inline-flex grid inline-grid flow-root table"
    " inline-table table-row table-cell table-row-group table-header-group table-footer-group"
    " table-column table-column-group table-caption list-item ruby ruby-text -webkit-box"
    " -webkit-inline-box -webkit-flex -webkit-inline-flex math"
)
INSIDES: Final = frozenset(
    {"block", "inline", "flow", "flow-root", "flex", "grid", "table", "list-item"}
)
FLOWS: Final = frozenset({"visible", "hidden", "clip", "scroll", "auto", "overlay"})
FITTING: Final = these(
    "auto min-content max-content fit-content -webkit-fill-available -webkit-fit-content"
    " -webkit-min-content -webkit-max-content stretch"
)
