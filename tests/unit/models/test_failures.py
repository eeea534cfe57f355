"""Each way a call can fail is one of our errors, with a fix and without a secret."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

import anthropic
import httpx2
import pytest

from gateway.engine.errors import ConfigError, GatewayError, ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.models._failures import Failure, from_exception, from_failure, retry_after, scrubber

KEY = "sk-ant-api03-secret_KEY"
REQUEST = httpx2.Request("POST", "https://api.anthropic.com/v1/messages")
scrub = scrubber("plain-secret")


def answered(status: int, code: str | None = None, **headers: str) -> Exception:
    """What the SDK raises for an answer with this status."""
    error: JsonObject = {"type": "some_error", "message": f"Bad {KEY} and plain-secret"}
    if code:
        error["details"] = {"error_code": code}
    body = {"type": "error", "error": error}
    response = httpx2.Response(
        status,
        request=REQUEST,
        json=body,
        headers={n.replace("_", "-"): v for n, v in headers.items()},
    )
    client = anthropic.AsyncAnthropic(api_key=KEY, max_retries=0)
    return client._make_status_error(str(body), body=body, response=response)


@pytest.mark.parametrize(
    ("status", "retried", "fix"),
    [
        (400, False, "report"),
        (401, False, "ANTHROPIC_API_KEY"),
        (402, False, "billing"),
        (403, False, "access"),
        (404, False, "name a model"),
        (408, True, ""),
        (409, True, ""),
        (413, False, "too large"),
        (422, False, "settings"),
        (429, True, ""),
        (431, False, "headers"),
        (499, True, ""),
        (500, True, ""),
        (501, True, ""),
        (503, True, ""),
        (504, True, ""),
        (529, True, ""),
        (418, False, ""),
    ],
)
def test_each_status_has_its_class_and_its_fix(status: int, retried: bool, fix: str) -> None:
    error = from_exception(answered(status), scrub)
    assert isinstance(error, ModelError)
    assert isinstance(error, ModelUnavailableError) is retried
    assert str(status) in str(error)
    assert fix in error.fix


@pytest.mark.parametrize(
    "code",
    [
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    ],
)
def test_a_spend_limit_is_for_the_operator_whatever_the_status_says(code: str) -> None:
    error = from_exception(answered(429, code, x_should_retry="true"), scrub)
    assert not isinstance(error, ModelUnavailableError)
    assert "spend limit" in error.fix


def test_a_ramp_limit_passes_with_time() -> None:
    assert isinstance(
        from_exception(answered(429, "ramp_limit_exceeded"), scrub), ModelUnavailableError
    )


@pytest.mark.parametrize(
    ("status", "said", "retried"), [(400, "true", True), (529, "false", False)]
)
def test_the_servers_word_on_retrying_beats_the_table(
    status: int, said: str, retried: bool
) -> None:
    error = from_exception(answered(status, x_should_retry=said), scrub)
    assert isinstance(error, ModelUnavailableError) is retried


def test_no_secret_gets_into_a_message() -> None:
    for status in (401, 400, 529):
        error = from_exception(answered(status), scrub)
        assert "secret_KEY" not in str(error)
        assert "plain-secret" not in str(error)
    long = from_failure(Failure(status=400, message="x" * 10_000), scrub)
    assert len(str(long)) < 1000


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "4233600"}, 4233600.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 12:01:00 GMT"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 12:01:00 GMT", "date": "Sun, 29 Nov 2026 12:00:00 GMT"}, 60.0),
        ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT", "date": "Sun, 29 Nov 2026 12:00:00 GMT"}, 0.0),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_read_from_the_answer(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_the_wait_reaches_the_engine() -> None:
    error = from_exception(answered(529, retry_after="12"), scrub)
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after == 12.0


@pytest.mark.parametrize(
    ("type_", "retried"),
    [
        ("overloaded_error", True),
        ("rate_limit_error", True),
        ("api_error", True),
        ("timeout_error", True),
        ("invalid_request_error", False),
        ("authentication_error", False),
        ("something_new", False),
    ],
)
def test_an_error_inside_the_stream_is_judged_by_its_type(type_: str, retried: bool) -> None:
    error = from_failure(Failure(status=200, type=type_), scrub)
    assert isinstance(error, ModelUnavailableError) is retried
    assert "in the stream" in str(error)


# -- nothing of a vendor's gets out ----------------------------------------------------------------
def vendor_errors() -> Iterator[Exception]:
    """One of every exception class that the SDK and its HTTP layer define."""
    seen: set[type] = set()
    for module in (anthropic, httpx2):
        for kind in vars(module).values():
            if inspect.isclass(kind) and issubclass(kind, Exception) and kind not in seen:
                seen.add(kind)
                yield made(kind)
    assert len(seen) > 50


def made(kind: type[Exception]) -> Exception:
    response = httpx2.Response(getattr(kind, "status_code", 500), request=REQUEST)
    for arguments in (
        {"message": "x", "response": response, "body": None},
        {"response": response, "body": None},
        {"message": "x", "response": response, "request": REQUEST},
        {"message": "x", "request": REQUEST, "body": None},
        {"message": "x", "request": REQUEST},
        {"request": REQUEST},
        {"message": "x"},
    ):
        try:
            return kind(**arguments)
        except TypeError:
            continue
    try:
        return kind("x")
    except TypeError:
        return kind()


def test_every_error_of_the_sdk_and_its_http_layer_is_mapped() -> None:
    for error in vendor_errors():
        mapped = from_exception(error, scrub)
        assert isinstance(mapped, ModelError | ConfigError), error
        assert type(mapped).__module__ == "gateway.engine.errors"


def test_a_parsers_error_is_worth_another_try() -> None:
    for error in (
        json.JSONDecodeError("x", "y", 0),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
        RecursionError(),
        ConnectionResetError(),
        TimeoutError(),
        AssertionError(),
    ):
        assert isinstance(from_exception(error, scrub), ModelUnavailableError)


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), AttributeError("x")])
def test_a_mistake_of_ours_is_not_tried_again(error: Exception) -> None:
    mapped = from_exception(error, scrub)
    assert isinstance(mapped, ModelError)
    assert not isinstance(mapped, ModelUnavailableError)


def test_a_wrong_address_is_a_final_error_that_names_the_setting() -> None:
    mapped: GatewayError = from_exception(httpx2.UnsupportedProtocol("no scheme"), scrub)
    assert "ANTHROPIC_BASE_URL" in mapped.fix
    assert not isinstance(mapped, ModelUnavailableError)


@pytest.mark.parametrize(
    ("cause", "retried"),
    [
        (httpx2.ConnectError("All connection attempts failed"), True),
        (ConnectionResetError("reset"), True),
        (httpx2.UnsupportedProtocol("ftp"), False),
        (TypeError("ours"), False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "ours"), False),
    ],
)
def test_a_connection_error_is_judged_by_its_cause_and_names_it(
    cause: Exception, retried: bool
) -> None:
    error = anthropic.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    mapped = from_exception(error, scrub)
    assert isinstance(mapped, ModelUnavailableError) is retried
    assert f"{type(cause).__name__}: " in str(mapped)
