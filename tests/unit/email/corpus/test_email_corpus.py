from __future__ import annotations

import pytest

from channels.email.mime.read import contents, read
from tests.unit.email.corpus.tables import CORPUS

ROOMS = sorted({name.partition(".")[0] for name in CORPUS})


@pytest.mark.parametrize("room", ROOMS)
def test_each_mail_reads_as_expected(room: str) -> None:
    wrong: dict[str, list[str]] = {}
    for name, made in CORPUS.items():
        if name.startswith(f"{room}."):
            raw, expected = made()
            mail = read(raw)
            faults = expected.faults(mail)
            for each in mail.attachments:
                held = contents(raw, [each.path]).get(each.path)
                if held is None or len(held) != each.size:
                    faults.append(f"{each.path}: another content")
            if faults:
                wrong[name] = faults
    assert wrong == {}


def test_the_corpus_is_large_and_every_mail_its_own() -> None:
    made = [raw for raw, _ in (function() for function in CORPUS.values())]
    assert len(set(made)) == len(made) >= 150
