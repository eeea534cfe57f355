"""What is sealed opens with the right key and for the right thing, and with nothing else."""

from __future__ import annotations

import pytest

from gateway.engine.errors import ConfigError
from gateway.sealing import make_sealer

OLD, NEW = "o" * 64, "n" * 64
SECRET = b"xoxb-secret"


def test_what_is_sealed_opens_again_and_shows_nothing() -> None:
    sealer = make_sealer([OLD])
    sealed = sealer.seal(SECRET, "T1")
    assert sealer.open(sealed, "T1") == SECRET
    assert SECRET not in sealed
    assert sealer.seal(SECRET, "T1") != sealed, "each with a nonce of its own"


def test_the_first_key_seals_and_all_open() -> None:
    old = make_sealer([OLD]).seal(SECRET, "T1")
    both = make_sealer([NEW, OLD])
    assert both.open(old, "T1") == SECRET
    new = both.seal(SECRET, "T1")
    assert make_sealer([NEW]).open(new, "T1") == SECRET
    with pytest.raises(ConfigError, match="none of the 1 keys in GATEWAY_SECRET_KEYS"):
        make_sealer([OLD]).open(new, "T1")


def test_it_opens_for_what_it_was_sealed_for_only() -> None:
    sealer = make_sealer([OLD])
    with pytest.raises(ConfigError, match="GATEWAY_SECRET_KEYS"):
        sealer.open(sealer.seal(SECRET, "T1"), "T2")


@pytest.mark.parametrize("at", [1, 5, 13, 20, -1])
def test_a_changed_byte_is_noticed(at: int) -> None:
    sealer = make_sealer([OLD])
    sealed = bytearray(sealer.seal(SECRET, "T1"))
    sealed[at] ^= 1
    with pytest.raises(ConfigError):
        sealer.open(bytes(sealed), "T1")


@pytest.mark.parametrize("sealed", [b"\x01", b"\x01short", b"\x01" + b"\x00" * 12])
def test_what_is_too_short_to_be_sealed_is_refused(sealed: bytes) -> None:
    with pytest.raises(ConfigError, match="GATEWAY_SECRET_KEYS"):
        make_sealer([OLD]).open(sealed, "T1")


@pytest.mark.parametrize("sealed", [b"", b"\x02" + b"\x00" * 40, b"plain text"])
def test_another_way_of_sealing_is_told_from_another_key(sealed: bytes) -> None:
    with pytest.raises(ConfigError, match="this release doesn't know"):
        make_sealer([OLD]).open(sealed, "T1")


@pytest.mark.parametrize("keys", [[], ["short"], [OLD, "short"]])
def test_keys_that_protect_nothing_are_refused_by_the_settings_name(keys: list[str]) -> None:
    with pytest.raises(ConfigError, match="GATEWAY_SECRET_KEYS") as refused:
        make_sealer(keys)
    assert "openssl rand -hex 32" in refused.value.fix
    assert "short" not in str(refused.value)
