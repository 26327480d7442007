"""Which failure is which: by status, header and type, whatever the words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_tools.capabilities.errors import RETRYABLE, ErrorCode, GitHubError, UnexpectedResponseError
from ghx_tools.capabilities.responses import graphql_error, read_graphql, read_rest, rest_error
from ghx_tools.capabilities.transports.exchange import Response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["message", "errors", "code"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "VALIDATION"),
        (401, "AUTH"),
        (403, "AUTH"),
        (404, "NOT_FOUND"),
        (405, "VALIDATION"),
        (406, "TOO_LARGE"),
        (409, "VALIDATION"),
        (410, "NOT_FOUND"),
        (413, "TOO_LARGE"),
        (418, "UNKNOWN"),
        (422, "VALIDATION"),
        (429, "RATE_LIMIT"),
        (451, "NOT_FOUND"),
        (500, "SERVER"),
        (501, "ADAPTER_UNSUPPORTED"),
        (502, "SERVER"),
        (503, "SERVER"),
        (504, "SERVER"),
        (599, "SERVER"),
    ],
)
def test_a_status_says_what_went_wrong(status: int, code: str) -> None:
    refusal = rest_error(status, {}, {"message": "the author has a rate limit of 429 and was not found"})

    assert refusal is not None
    assert refusal.error_code == code


@pytest.mark.parametrize("headers", [{"x-ratelimit-remaining": "0"}, {"retry-after": "60"}])
def test_forbidden_is_a_rate_limit_if_its_headers_say_so(headers: dict[str, str]) -> None:
    refusal = rest_error(403, headers, {})

    assert refusal is not None
    assert refusal.error_code == ErrorCode.RATE_LIMIT


def test_a_blob_that_is_too_large_is_not_a_lack_of_rights() -> None:
    refusal = rest_error(403, {}, {"message": "This API returns blobs up to 1 MB", "errors": [{"code": "too_large"}]})

    assert refusal is not None
    assert refusal.error_code == ErrorCode.TOO_LARGE


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": "No"}, "No"),
        (
            {"message": "Bad", "errors": [{"message": "title is missing"}, "and more"]},
            "Bad: title is missing; and more",
        ),
        (
            {"message": "Bad", "errors": [{"resource": "Label", "field": "name", "code": "already_exists"}]},
            "Bad: Label name already_exists",
        ),
        ({"message": "Same", "errors": [{"message": "Same"}]}, "Same"),
        ({"message": "Bad", "errors": "one text"}, "Bad: one text"),
        ("no object", "GitHub answered with status 422"),
    ],
)
def test_a_message_gives_githubs_reasons(body: object, message: str) -> None:
    assert str(rest_error(422, {}, body)) == message


@given(st.integers(0, 399), JSON)
def test_what_goes_well_is_no_refusal(status: int, body: object) -> None:
    assert rest_error(status, {}, body) is None


HEADERS = st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]), st.text())


@given(st.integers(400, 999), JSON, HEADERS)
def test_whatever_a_refusal_says_it_can_be_told(status: int, body: object, headers: dict[str, str]) -> None:
    refusal = rest_error(status, headers, body)

    assert refusal is not None
    assert refusal.retryable == (refusal.error_code in RETRYABLE)
    assert "\n" not in str(refusal)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("NOT_FOUND", "NOT_FOUND"),
        ("FORBIDDEN", "AUTH"),
        ("INSUFFICIENT_SCOPES", "AUTH"),
        ("UNPROCESSABLE", "VALIDATION"),
        ("RATE_LIMITED", "RATE_LIMIT"),
        ("MAX_NODE_LIMIT_EXCEEDED", "TOO_LARGE"),
        ("SERVICE_UNAVAILABLE", "SERVER"),
        ("SOMETHING_NEW", "UNKNOWN"),
    ],
)
def test_the_type_of_a_graphql_error_says_what_went_wrong(kind: str, code: str) -> None:
    assert graphql_error([{"type": kind, "message": "not found 500"}]).error_code == code


def test_a_complaint_about_the_document_is_one_about_the_input() -> None:
    error = {"message": "Field 'x' doesn't exist", "extensions": {"code": "undefinedField"}}

    assert graphql_error([error]).error_code == ErrorCode.VALIDATION


@pytest.mark.parametrize("more", [{}, {"path": ["a"], "locations": [{"line": 1}]}])
def test_an_error_without_a_type_is_githubs_own(more: dict[str, object]) -> None:
    error = graphql_error([{"message": "Something went wrong while executing your query", **more}])

    assert (error.error_code, error.retryable) == (ErrorCode.SERVER, True)


def test_an_error_at_a_place_of_the_document_is_not_githubs_own() -> None:
    error = graphql_error([{"message": "Parse error", "locations": [{"line": 1, "column": 2}]}])

    assert error.error_code == ErrorCode.UNKNOWN


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (
            "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
            "RATE_LIMIT",
        ),
        ("https://docs.github.com/rest/guides/best-practices#dealing-with-secondary-rate-limits", "RATE_LIMIT"),
        ("https://docs.github.com/rest/issues/issues#create-an-issue", "AUTH"),
        (None, "AUTH"),
        (["rate"], "AUTH"),
    ],
)
def test_a_secondary_limit_is_told_by_the_page_that_it_names(page: object, code: str) -> None:
    refusal = rest_error(403, {"x-ratelimit-remaining": "4999"}, {"message": "Wait", "documentation_url": page})

    assert refusal is not None
    assert refusal.error_code == code


def test_errors_of_any_depth_are_read_or_refused() -> None:
    outcomes: set[str] = set()
    for depth in range(10, 1_200, 10):
        body = '{"errors": [{"type": "NOT_FOUND", "message": "m", "more": ' + "[" * depth + "]" * depth + "}]}"
        response = Response(status=200, headers={}, body=body.encode())
        try:
            read_graphql(response, redact=bytes, mutates=False)
            outcomes.add("read")
        except UnexpectedResponseError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("status", [101, 103, 199])
def test_a_status_that_is_no_answer_is_no_success(status: int) -> None:
    with pytest.raises(GitHubError):
        read_rest(Response(status=status, headers={}, body=b"{}"))
