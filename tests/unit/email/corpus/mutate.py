"""A mail with something wrong with it: bytes changed, cut out, doubled, or taken from where they mean
something."""

from __future__ import annotations

from random import Random

_TOKENS = (
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\x00",
        b"--b1",
        b"--b1--",
        b";",
        b'"',
        b"=?utf-8?q?",
        b"?=",
        b"<",
        b">",
    ),
    *(
        b"(",
        b"boundary=",
        b"Content-Type: multipart/mixed; boundary=b1\r\n\r\n",
        b"\xff\xfe",
        b"\x1b$B",
    ),
    *(
        b"Content-Transfer-Encoding: base64\r\n",
        b"message/rfc822",
        b"<!--",
        b"</",
        b"&#",
        b"*0*=",
        b"%",
    ),
)


def mutated(raw: bytes, dice: Random) -> bytes:
    out = bytearray(raw)
    for _ in range(dice.randint(1, 8)):
        at = dice.randint(0, len(out))
        width = dice.randint(1, 40)
        way = dice.randrange(5)
        if way == 0:
            out[at : at + 1] = bytes([dice.randrange(256)])
        elif way == 1:
            del out[at : at + width]
        elif way == 2:
            out[at:at] = out[at : at + width] * dice.randint(1, 50)
        elif way == 3:
            out[at:at] = dice.choice(_TOKENS) * dice.choice((1, 1, 1, 200))
        else:
            out[at:at] = out[dice.randint(0, len(out)) :][: width * 10]
    return bytes(out)
