"""Which release this is. A module of its own, so that asking costs no other import."""

from __future__ import annotations


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("june-gateway")
    except PackageNotFoundError:  # run from a checkout that isn't installed
        return "0"
