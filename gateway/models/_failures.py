"""Every way a call can fail → one of our errors. A table, and the only place that decides.

Nothing is imported to decide it: an error of the SDK (``anthropic``) or of its HTTP layer
(``httpx2``, ``httpcore2``) is known by where its class was defined and by its attributes, so an
injected client works whatever it brings along. Sources: anthropic 2.14 ``_exceptions.py`` and
``_error_classes.py``; platform.claude.com, "Errors".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from gateway.engine.errors import ConfigError, GatewayError, ModelError, ModelUnavailableError
from gateway.engine.struct import struct

_RETRY_STATUS = frozenset({408, 409, 425, 429, 499})
_RETRY_TYPE = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
_SPENT = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    }
)
"""Answered with 429 and more, and no wait helps: somebody has to raise a limit."""

_FIX_BY_CODE = dict.fromkeys(
    _SPENT, "raise the spend limit in the Anthropic console, or wait for its next period"
)
_FIX_BY_STATUS = {
    400: "this transcript or setting is refused: `gateway why` shows the turn; report it if unclear",
    401: "set ANTHROPIC_API_KEY to a valid key",
    402: "check billing in the Anthropic console",
    403: "give the API key's workspace access to this model",
    404: "name a model that exists and that this key may use, and check ANTHROPIC_BASE_URL",
    413: "the request is too large: reset the session, or send less",
    422: "check the model's settings in agent.py",
    431: "the request's headers are too large: check ANTHROPIC_CUSTOM_HEADERS",
}
_STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}

_TRANSPORT = frozenset({"httpx2", "httpcore2"})
_NOT_THE_NETWORK = frozenset({"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"})
_FIX_URL = "check ANTHROPIC_BASE_URL (or base_url=)"


@struct(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is known of a failed call. ``status`` 200 is an error that came inside the stream."""

    status: int
    type: str | None = None
    code: str | None = None
    message: str = ""
    request_id: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    """The server's own word (``x-should-retry``), which beats the table."""


Scrub = Callable[[str], str]


def scrubber(*secrets: str | None) -> Scrub:
    """Takes the given secrets, and anything that looks like an API key, out of a text."""
    known = [secret for secret in secrets if secret]

    def scrub(text: str) -> str:
        for secret in known:
            text = text.replace(secret, "[secret]")
        return re.sub(r"sk-ant-[A-Za-z0-9_-]+", "[secret]", text)[:500]

    return scrub


def from_failure(failure: Failure, scrub: Scrub) -> ModelError:
    """The error for an answer that says no."""
    where = "in the stream" if failure.status == 200 else f"with {failure.status}"
    parts = [
        part
        for part in (failure.type, failure.code, scrub(failure.message), failure.request_id)
        if part
    ]
    text = f"the model's API answered {where}" + (f": {', '.join(parts)}" if parts else "")
    if _worth_retrying(failure):
        return ModelUnavailableError(text, retry_after=failure.retry_after)
    status = failure.status if failure.status != 200 else _STATUS_BY_TYPE.get(failure.type or "")
    fix = _FIX_BY_CODE.get(failure.code or "") or _FIX_BY_STATUS.get(status or 0, "")
    return ModelError(text, fix=fix)


def _worth_retrying(failure: Failure) -> bool:
    if failure.code in _SPENT:
        return False
    if failure.should_retry is not None:
        return failure.should_retry
    if failure.status == 200:
        return failure.type in _RETRY_TYPE
    return failure.status in _RETRY_STATUS or failure.status >= 500


def from_exception(error: Exception, scrub: Scrub) -> GatewayError:
    """The error for whatever the SDK, its HTTP layer or a parser raised."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and _defined_in(error, "anthropic"):
        return from_failure(_described(error, status), scrub)
    text = _named(error, scrub)
    # The SDK calls whatever failed before the answer a connection error; its cause tells.
    wrapped = type(error).__name__ == "APIConnectionError" and error.__cause__
    root = wrapped if isinstance(wrapped, Exception) else error
    names = {kind.__name__ for kind in type(root).__mro__}
    if names & _NOT_THE_NETWORK:
        return ModelError(f"the model's API can't be called: {text}", fix=_FIX_URL)
    if "CredentialsError" in names:
        return ConfigError(
            f"the client's credentials can't be loaded: {text}",
            fix="set ANTHROPIC_API_KEY, or inject a client with credentials that work",
        )
    if (
        _defined_in(root, *_TRANSPORT)
        or names & {"APIConnectionError", "RetryableError", "APIResponseValidationError"}
        or (isinstance(root, _BROKEN) and not isinstance(root, UnicodeEncodeError))
    ):
        return ModelUnavailableError(f"the connection to the model failed: {text}")
    return ModelError(f"the model call failed: {text}", fix="report it: this is unexpected")


# ValueError: what broken frames become (JSON, UTF-8, anthropic-sdk-python#1477).
# AssertionError: what the SDK makes of an empty answer.
_BROKEN = (OSError, EOFError, ValueError, AssertionError, RecursionError)


def _named(error: Exception, scrub: Scrub) -> str:
    """The error with its cause: the SDK's own "Connection error." says nothing."""
    text = f"{type(error).__name__}: {error}"
    if error.__cause__ is not None:
        text += f" ({type(error.__cause__).__name__}: {error.__cause__})"
    return scrub(text)


def _defined_in(error: Exception, *packages: str) -> bool:
    return any(kind.__module__.partition(".")[0] in packages for kind in type(error).__mro__)


def _described(error: Exception, status: int) -> Failure:
    headers = _headers(error)
    said = headers.get("x-should-retry", "").lower()
    return Failure(
        status=status,
        type=_text(error, "type"),
        code=_text(error, "error_code"),
        message=_text(error, "api_message") or "",
        request_id=_text(error, "request_id"),
        retry_after=retry_after(headers),
        should_retry={"true": True, "false": False}.get(said),
    )


def _text(error: Exception, name: str) -> str | None:
    value = getattr(error, name, None)
    return value if isinstance(value, str) else None


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return {str(k).lower(): str(v) for k, v in headers.items()} if headers is not None else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait. Uncapped: what deadlines leave is for the engine to know.

    A date is read against the answer's own ``date``, so neither clock has to be right.
    """
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return exact / 1000
    plain = headers.get("retry-after")
    if (seconds := _number(plain)) is not None:
        return seconds
    until, sent = _date(plain), _date(headers.get("date"))
    if until is None or sent is None:
        return None
    return max(0.0, (until - sent).total_seconds())


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
