"""Whoever calls Slack needs a token: one for every installation."""

from __future__ import annotations


class OneToken:
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self, installation: str) -> str | None:
        del installation
        return self._token

    async def renewed(self, installation: str, stale: str) -> str | None:
        del installation, stale
        return None
