"""June, the support agent of a small web shop that sells kettles and everything beside them."""

from __future__ import annotations

from gateway import Agent

from ._services import authorize_answer, build_services

agent = Agent(
    name="june",
    model="claude-sonnet-5-5",
    # Who writes by mail has no thread in which a lead could press a button.
    approvals={"email:refunds": "slack:C0000000APR"},
    services=build_services,
    authorize_answer=authorize_answer,
)
