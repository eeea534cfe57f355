"""Models behind the ``Model`` seam: Claude through the vendor's SDK, and one that a function plays.

Importing this package loads no SDK: ``anthropic`` does at its first call.
"""

from __future__ import annotations

from gateway.models.anthropic import anthropic
from gateway.models.scripted import ScriptedModel

__all__ = ["ScriptedModel", "anthropic"]
