"""Call tools: what both transports do once a call has arrived."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ghx_base.problems import did_you_mean, shortened
from ghx_tools.capabilities.chain import Step, read_steps, run_chain
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.mcp.toolsets import CHAIN, Selection

ReportProgress = Callable[[int, int, str], Awaitable[None]]
"""Takes how much is done, out of how much, and what it was."""


async def call_tool(
    client: GitHubClient, selection: Selection, name: str, arguments: Mapping[str, Any], report: ReportProgress
) -> dict[str, Any]:
    """Return what a tool gives, as the protocol writes it; a call that GitHub refuses ends in a result, too."""
    try:
        if name == CHAIN:
            return await _call_chain(client, selection, arguments, report)
        entry = selection.entry(name)
        if entry is None:
            hint = did_you_mean(name, selection.tools, otherwise="list the tools to see what there is")
            raise InvalidInputError(f"this server offers no tool {shortened(name)}; {hint}")
        envelope = await execute_task(client, entry.id, arguments)
    except CapabilityError as error:
        return describe_failure(error.error_code, str(error))
    if envelope.error is not None:
        return describe_failure(envelope.error.code, envelope.error.message)
    return _describe_success(envelope.data)


async def _call_chain(
    client: GitHubClient, selection: Selection, arguments: Mapping[str, Any], report: ReportProgress
) -> dict[str, Any]:
    if set(arguments) != {"steps"}:
        raise InvalidInputError("chain takes `steps`, a list of {task, input}, and nothing else")
    steps: list[Step] = []
    for step in read_steps(arguments["steps"]):
        entry = selection.entry(step.task)
        steps.append(step if entry is None else Step(task=entry.id, input=step.input))
    # A step that the selection leaves out fails in the chain: `--read-only` must hold there as well.
    offered = frozenset(entry.id for entry in selection.tools.values())
    done = 0

    async def report_step(envelope: Envelope) -> None:
        nonlocal done
        done += 1
        await report(done, len(steps), f"{envelope.meta.capability_id} {'done' if envelope.ok else 'failed'}")

    result = await run_chain(client, steps, offered=offered, on_step=report_step)
    # A chain that succeeded in part is no error: something was done, and its results say what.
    return {**_describe_success(result.to_compact()), "isError": result.status == "failed"}


def describe_failure(code: ErrorCode, message: str) -> dict[str, Any]:
    """Return the result of a call that failed."""
    return {"content": [_text({"code": code.value, "message": message})], "isError": True}


def _describe_success(data: Any) -> dict[str, Any]:
    # The protocol asks for structured content as text, too, for clients that know only that.
    return {"content": [_text(data)], "structuredContent": data, "isError": False}


def _text(value: Any) -> dict[str, str]:
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False, separators=(",", ":"))}
