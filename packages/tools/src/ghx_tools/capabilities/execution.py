"""Call one capability: check its input, and put its outcome into an envelope."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ghx_base.problems import did_you_mean, listed, shortened
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.entries import Signature
from ghx_tools.capabilities.envelope import Envelope, Failure, Meta, Pagination, Reason, Timings
from ghx_tools.capabilities.errors import CapabilityError, InvalidInputError, UnexpectedResponseError
from ghx_tools.capabilities.models import InputModel, OutputModel
from ghx_tools.capabilities.registry import Capability, capability


async def execute_task(client: GitHubClient, task: str, inputs: Mapping[str, Any]) -> Envelope:
    """Call the capability `task` and return its envelope; errors of the input and of GitHub are in it, not raised.

    Input is understood in camelCase and in snake_case, `repo` as `name`, digits in a string as a number.
    """
    started = client.clock.monotonic()
    try:
        called = capability(task)
        checked = check_input(called, inputs)
    except InvalidInputError as error:
        return _envelope(task, started, client, reason="INPUT_VALIDATION", error=error)
    try:
        output = await called.operation.function(client, checked)
    except CapabilityError as error:
        return _envelope(task, started, client, called=called, error=error)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        # Capabilities index into responses without a check for each key: one of another shape ends in one of these.
        problem = f"GitHub's answer is not what it documents: {_describe_mismatch(error)}"
        unexpected = UnexpectedResponseError(problem)
        return _envelope(task, started, client, called=called, reason="OUTPUT_VALIDATION", error=unexpected)
    return _envelope(task, started, client, called=called, output=output)


def check_input(called: Capability, inputs: Mapping[str, Any]) -> InputModel:
    """Return the input as its model, or raise `InvalidInputError` with everything that is wrong."""
    inputs_by_name = _spell_names(called.entry.signature, inputs)
    try:
        return called.operation.input.model_validate(inputs_by_name)
    except ValidationError as error:
        from ghx_base.documents import explain  # noqa: PLC0415 - slow, and only needed to complain

        problems = "; ".join(
            f"{'.'.join(map(str, problem.tokens))}: {problem}" if problem.tokens else str(problem)
            for problem in explain(error, called.operation.input, inputs_by_name)
        )
        raise InvalidInputError(f"{called.id}: {problems}") from None


def _spell_names(signature: Signature, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with its names as the capability spells them; refuse unknown names, and two values for one."""
    inputs_by_name: dict[str, Any] = {}
    for key, value in inputs.items():
        name = signature.name_of(key)
        if name is None:
            hint = did_you_mean(key, signature.names, otherwise=f"known: {listed(signature.names)}")
            raise InvalidInputError(f"unknown input {shortened(key)}; {hint}")
        if name in inputs_by_name and inputs_by_name[name] != value:
            raise InvalidInputError(
                f"input {name!r} is given twice, as {shortened(inputs_by_name[name])} and {shortened(value)}"
            )
        inputs_by_name[name] = value
    return inputs_by_name


def _describe_mismatch(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _envelope(
    task: str,
    started: float,
    client: GitHubClient,
    *,
    called: Capability | None = None,
    reason: Reason = "CARD_PREFERRED",
    output: OutputModel | None = None,
    error: CapabilityError | None = None,
) -> Envelope:
    data = None if output is None else output.to_wire()
    return Envelope(
        ok=error is None,
        data=data,
        error=None if error is None else Failure.of(error),
        meta=Meta(
            capability_id=task,
            route_used=None if called is None else called.operation.route,
            reason=reason,
            timings=Timings(total_ms=round((client.clock.monotonic() - started) * 1000, 3)),
            pagination=_pagination(data),
        ),
    )


def _pagination(data: Mapping[str, Any] | None) -> Pagination | None:
    info = None if data is None else data.get("pageInfo")
    if info is None:
        return None
    return Pagination(has_next_page=info["hasNextPage"], end_cursor=info["endCursor"])
