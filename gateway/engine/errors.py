"""Every error the engine raises, with its HTTP status and whose fault it is.

::

    GatewayError
    ├── ConfigError                        500  ours: refuses to start
    │   ├── SeamVersionError                    an implementation speaks another seam version
    │   ├── ToolDefinitionError                 a function that can't be a tool (engine.tool)
    │   └── DefinitionError                     what is wrong with an agent directory (definition)
    ├── RequestError                            the caller's
    │   ├── InvalidInputError              422  a value that doesn't fit its schema
    │   ├── TooLargeError                  413  over a byte limit
    │   ├── BusyError                      429  over a queue limit, nothing was claimed
    │   ├── NotFoundError                  404  no such agent, session, turn or request
    │   ├── TurnIdConflict                 409  the turn id is taken by other content
    │   ├── SessionSuspendedError          409  the session waits for a person
    │   ├── StaleAnswerError               409  wrong turn, wrong request, other digest, not suspended
    │   │   └── AlreadyAnsweredError       409  names who decided
    │   ├── ResumeAuthorizationError       403  this identity may not answer
    │   └── DuplicateClaimError            409  a dedupe key was claimed before
    ├── StaleAttemptError                  409  another attempt owns the session; stop without a word
    ├── LeaseLostError                     409  somebody else may hold the row now; stop without a word
    ├── WriteConflictError                 500  a row that must be new is there already: a fault of ours
    ├── StoreUnavailableError              503  the store can't take a write now; try again
    ├── SchemaTooNewError                  500  the store was written by a newer release
    ├── AuthorizeHookError                 500  the agent's hook raised; nothing was applied
    ├── DeliverUnsupportedError            501  this host can't deliver; nothing was started
    ├── ModelError                         502  the model failed for good
    │   └── ModelUnavailableError          503  for now: the engine retries, honouring retry_after
    ├── InputRequestError                  500  a tool asked for input in a way that can't work
    │   └── InputExpired                        the request's deadline passed
    └── FatalToolError                     500  a tool fails the whole turn
"""

from __future__ import annotations

from typing import ClassVar, Literal

from gateway.engine.model import Usage

Fault = Literal["caller", "operator", "provider", "author"]


class GatewayError(Exception):
    """Base of all engine errors. ``code`` is stable; ``fix`` is the exact next step."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    fault: ClassVar[Fault] = "operator"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def told(error: Exception) -> str:
    """Our own errors speak for themselves, with their fix; others may repeat what somebody wrote."""
    if isinstance(error, GatewayError):
        return f"{error} (fix: {error.fix})" if error.fix else str(error)
    return type(error).__name__


class ConfigError(GatewayError):
    code = "config"


class SeamVersionError(ConfigError):
    code = "seam_version"


class RequestError(GatewayError):
    status = 400
    code = "bad_request"
    fault = "caller"


class InvalidInputError(RequestError):
    status = 422
    code = "invalid_input"


class TooLargeError(RequestError):
    status = 413
    code = "too_large"


class BusyError(RequestError):
    status = 429
    code = "busy"


class NotFoundError(RequestError):
    status = 404
    code = "not_found"


class TurnIdConflict(RequestError):
    status = 409
    code = "turn_id_conflict"


class SessionSuspendedError(RequestError):
    status = 409
    code = "session_suspended"


class StaleAnswerError(RequestError):
    status = 409
    code = "stale_answer"


class AlreadyAnsweredError(StaleAnswerError):
    code = "already_answered"

    def __init__(self, message: str, *, by: str | None, outcome: str, at: int) -> None:
        super().__init__(message)
        self.by = by
        self.outcome = outcome
        self.at = at


class ResumeAuthorizationError(RequestError):
    status = 403
    code = "not_authorized"


class DuplicateClaimError(RequestError):
    status = 409
    code = "duplicate"

    def __init__(self, key: str) -> None:
        super().__init__(f"dedupe key {key!r} was claimed before")
        self.key = key


class StaleAttemptError(GatewayError):
    status = 409
    code = "stale_attempt"

    def __init__(self) -> None:
        super().__init__("another attempt owns the session now; nothing was written")


class LeaseLostError(GatewayError):
    status = 409
    code = "lease_lost"

    def __init__(self) -> None:
        super().__init__(
            "the lease was lost, and the row may be somebody else's; nothing was written"
        )


class WriteConflictError(GatewayError):
    """The store refused rows that contradict what it holds (a message index or event number given
    twice, a turn id taken); nothing of the write was applied."""

    code = "write_conflict"


class StoreUnavailableError(GatewayError):
    status = 503
    code = "store_unavailable"


class SchemaTooNewError(GatewayError):
    code = "schema_too_new"


class AuthorizeHookError(GatewayError):
    code = "authorize_hook"
    fault = "author"


class DeliverUnsupportedError(GatewayError):
    status = 501
    code = "deliver_unsupported"


class ModelError(GatewayError):
    """``usage`` is what the failed call costs all the same, where the provider had begun to charge."""

    status = 502
    code = "model"
    fault = "provider"

    def __init__(self, message: str, *, fix: str = "", usage: Usage | None = None) -> None:
        super().__init__(message, fix=fix)
        self.usage = usage


class ModelUnavailableError(ModelError):
    """A failure worth retrying; ``retry_after`` in seconds when the provider named one."""

    status = 503
    code = "model_unavailable"

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        fix: str = "",
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, fix=fix, usage=usage)
        self.retry_after = retry_after


class InputRequestError(GatewayError):
    code = "input_request"
    fault = "author"


class InputExpired(InputRequestError):
    code = "input_expired"


class FatalToolError(GatewayError):
    """Raised by a tool to fail the turn: a mistake the model can't fix."""

    code = "fatal_tool"
    fault = "author"
