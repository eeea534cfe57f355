"""The loop: ask where the turn stands, take that step, until it rests.

The turn's signals are caught here and nowhere else. The store's refusals pass
through: then nothing more may, or can, be written.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import assert_never

from gateway.engine.decisions.attempts import let_go
from gateway.engine.decisions.closing import Closed, Ending
from gateway.engine.decisions.position import AskModel, Complete, RunCalls, next_move
from gateway.engine.errors import (
    FatalToolError,
    GatewayError,
    StaleAttemptError,
    StoreUnavailableError,
    WriteConflictError,
)
from gateway.engine.records import Ask
from gateway.engine.steps.attempt import Attempt
from gateway.engine.steps.model import model_step
from gateway.engine.steps.results import close_failed, close_with
from gateway.engine.steps.signals import Cancelled, Drained, TimedOut, TurnFailure
from gateway.engine.steps.tools import tool_steps

log = logging.getLogger("gateway.engine")


async def drive(attempt: Attempt) -> BaseException | None:
    """Drive the turn until it ends, parks or is left at a checkpoint. Returns why it failed."""
    try:
        await _steps(attempt)
    except Cancelled as stop:
        await _close(attempt, close_with(attempt, Ending.cancelled(stop.reason)))
    except TimedOut as stop:
        await _close(attempt, close_with(attempt, Ending.timed_out(stop.deadline)))
    except Drained:
        await release(attempt)
    except TurnFailure as failure:
        await _close(
            attempt, close_failed(attempt, str(failure), phase=failure.phase, step=failure.step)
        )
        return failure
    except FatalToolError as error:
        step = attempt.fatal_step or _step_in_flight(attempt)
        await _close(
            attempt, close_failed(attempt, str(error), phase="tool", step=step, fatal=True)
        )
        return error
    except (StaleAttemptError, StoreUnavailableError, WriteConflictError):
        raise
    except Exception as error:  # the turn must end in words, whatever broke
        log.exception("turn %s broke", attempt.turn_id, extra={"turn_id": attempt.turn_id})
        told = str(error) if isinstance(error, GatewayError) else "internal error"
        await _close(attempt, close_failed(attempt, told, phase=None, step=None))
        return error
    return attempt.fatal


async def _steps(attempt: Attempt) -> None:
    while True:
        attempt.boundary()
        move = next_move(attempt.messages, attempt.turn_id)
        match move:
            case AskModel():
                if await model_step(attempt, move):
                    return
            case RunCalls():
                await tool_steps(attempt, move)
                if attempt.record.state != "running":
                    return
            case Complete():
                # The reply that completes a turn commits together with its end.
                raise TurnFailure("the transcript is complete but the turn isn't")
            case _:
                assert_never(move)


def _step_in_flight(attempt: Attempt) -> str | None:
    move = next_move(attempt.messages, attempt.turn_id)
    return move.owed[0].step if isinstance(move, RunCalls) else None


async def _close(attempt: Attempt, closed: Closed) -> None:
    await attempt.commit(closed.writes, closed.messages, closed.events)


async def release(attempt: Attempt) -> None:
    """Leave the turn at its checkpoint, on purpose: the process is going."""
    world = attempt.world
    decide = partial(let_go, fence=attempt.fence, ran=attempt.ran())
    record = await world.store.amend(world.ref, Ask(turn_id=attempt.turn_id), decide)
    if record is not None:
        attempt.record = record
