"""An agent that answers at once, or is at work for as long as it is left alone."""

from __future__ import annotations

from gateway import Agent

agent = Agent(name="bench", model="scripted")
