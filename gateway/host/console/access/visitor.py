"""Who looks at the operators' pages, and what each role may do there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal["viewer", "operator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most: each may do what those before it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who signed in. ``csrf`` belongs into every form on their pages."""

    user: str
    role: Role
    csrf: str

    @property
    def identity(self) -> str:
        """Who decides, as requests, policies and the audit trail know it."""
        return f"console:{self.user}"

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


def role_from(text: object) -> Role | None:
    return next((role for role in ROLES if role == text), None)
