"""`ghx chain`: call several capabilities."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import anyio

from ghx_base.commandline import FAILED
from ghx_tools.capabilities.chain import ChainResult, Step, read_steps, run_chain
from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.cli.argument_parser import Parser
from ghx_tools.cli.arguments import add_repository, read_json
from ghx_tools.cli.output import answer_in_json, write_json
from ghx_tools.cli.remote import default_repository, full_name
from ghx_tools.cli.usage import UsageError

_PURPOSE = """\
Call several capabilities and print what came of each as JSON:
{"status":"success"|"partial"|"failed","results":[{"task":...,"ok":true,"data":...}, ...]};
if the steps cannot be read, {"status":"failed","results":[],"error":{"code":...,"message":...}}.

STEPS is a list of {"task": ..., "input": {...}}. A step may use what an earlier one gave:
  ghx chain '[{"task": "issue.create", "input": {"title": "Broken"}},
              {"task": "issue.labels.add", "input": {"issueNumber": "{{steps.0.data.number}}", "labels": ["bug"]}}]'

Steps happen as if one after the other, but those that need not wait for each other share
round trips. A step that fails spoils only those that use what it would have given.
owner and name are those of the git remote `origin` if left out.
Steps in a file: ghx chain - < FILE. Exit codes: 0 all steps done, 1 at least one failed, 2 bad usage."""


def main(arguments: Sequence[str]) -> int:
    """Call the capabilities of the steps and print the result of the chain."""
    return answer_in_json(lambda: _chain(arguments), {"status": "failed", "results": []})


def _chain(arguments: Sequence[str]) -> int:
    parser = Parser("ghx chain", _PURPOSE)
    parser.add_argument("given", nargs="?", metavar="STEPS", help="a list of JSON; - reads it from standard input")
    parser.add_argument("--steps", metavar="STEPS", help="the same, as a flag")
    parser.add_argument("-R", "--repo", metavar="OWNER/NAME", help="the repository of all steps that name none")
    parser.add_switch("--verbose", "everything: details, routes, timings, round trips")
    options = parser.read(arguments)
    if (options.given is None) == (options.steps is None):
        raise UsageError("give the steps once, as JSON, or - to read them from standard input (see `ghx chain --help`)")
    value, _ = read_json(options.given if options.steps is None else options.steps, "STEPS")
    steps = _add_repositories(read_steps(value), options.repo)

    async def run() -> ChainResult:
        async with client_from_environment(os.environ) as client:
            return await run_chain(client, steps)

    result = anyio.run(run)
    write_json(result.to_wire() if options.verbose else result.to_compact(), indented=options.verbose)
    return 0 if result.status == "success" else FAILED


def _add_repositories(steps: Sequence[Step], repository: str | None) -> list[Step]:
    repository_name = None if repository is None else full_name(repository)
    if repository is not None and repository_name is None:
        raise UsageError(f"--repo is {repository!r}; write owner/name")

    @cache  # it asks git, and most steps of a chain name no repository
    def default() -> tuple[str, str] | None:
        return repository_name or default_repository(os.environ, Path.cwd())

    return [
        replace(step, input=add_repository(ENTRIES[step.task], step.input, default)) if step.task in ENTRIES else step
        for step in steps
    ]
