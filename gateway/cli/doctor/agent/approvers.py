"""Who decides: a tool that moves money says so, and somebody can."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.engine.steps.taint import GATED, gate_policy

POLICY = 'answerers={"policy": "refunds"}'


def named(seen: Seen) -> Iterator[Finding]:
    """Without a word on it, whoever asks for the money lets it go."""
    if seen.defined is None:
        return
    for tool, decided in seen.defined.money.items():
        if not decided:
            yield warning(
                "agent.approvers",
                f"{tool} moves money, and nothing says who approves it",
                f"tools/{tool}.py names no answerers, so whoever asks for it decides, or nobody is asked",
                Fix(text=f"In tools/{tool}.py, ask with {POLICY}, and decide in authorize_answer"),
            )


def by_mail(seen: Seen) -> Iterator[Finding]:
    """A mail proves nobody's identity, so the taint gate stops what it asks for; and asks whom?"""
    if seen.defined is None or not seen.mail_mounted:
        return
    known = seen.defined.loaded.definition
    if gate_policy(known.approvals) is not None:
        return
    stopped = [
        name
        for name, tool in known.tools.items()
        if tool.effect in GATED and tool.answerers is None
    ]
    if stopped:
        yield warning(
            "agent.taint",
            f"what a mail asks of {', '.join(stopped)} isn't done: nobody is named who approves it",
            "mail proves nobody's identity, so a call that reaches outside or moves money needs somebody else",
            Fix(
                text='Write who approves into the tool, @tool(effect=…, answerers={"policy": "visits"}), or'
                ' for all of them into agent.py, approvals={"taint": "slack:C0123ABCD"}; decide in'
                " authorize_answer"
            ),
        )


def deciding(seen: Seen) -> Iterator[Finding]:
    """A policy without the function that knows who fits it: every answer is refused."""
    if seen.defined is None or seen.defined.loaded.definition.authorize_answer is not None:
        return
    unanswered = [one for one in seen.defined.loaded.warnings if "asks the policy" in one.message]
    for one in unanswered:
        yield error(
            "agent.approvers",
            "nobody can approve: the agent has no authorize_answer",
            f"{one.file}:{one.line} {one.message}",
            Fix(text="In agent.py, give Agent an authorize_answer that says who may decide"),
        )
