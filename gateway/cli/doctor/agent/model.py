"""What the agent thinks with: a host starts only where its model can be called."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Seen


def callable_here(seen: Seen) -> Iterator[Finding]:
    """A host that runs has what it needs, whatever is set in this shell."""
    if seen.defined is None or seen.defined.model_lacks is None:
        return
    if seen.kept is not None and seen.kept.host is not None:
        return
    what, how = seen.defined.model_lacks
    yield error(
        "agent.model",
        what,
        "gateway serve refuses to start with these settings",
        Fix(text=how, command="export ANTHROPIC_API_KEY=…"),
    )
