"""`ghx chain`: call several capabilities."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import anyio

from ghx_bench._base.commandline import FAILED
from ghx_bench.capabilities.chain import ChainResult, Step, read_steps, run_chain
from ghx_bench.capabilities.environment import client_from_environment
from ghx_bench.capabilities.index import ENTRIES
from ghx_bench.cli.argument_parser import Parser
from ghx_bench.cli.arguments import read_json, with_repository
from ghx_bench.cli.output import answering, write_json
from ghx_bench.cli.remote import default_repository, full_name
from ghx_bench.cli.usage import UsageError

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
    """Read the steps, call the capabilities, print what came of them."""
    return answering(lambda: _chain(arguments), {"status": "failed", "results": []})


def _chain(arguments: Sequence[str]) -> int:
    parser = Parser("ghx chain", _PURPOSE)
    parser.add_argument("given", nargs="?", metavar="STEPS", help="a list of JSON; - reads it from standard input")
    parser.add_argument("--steps", metavar="STEPS", help="the same, as a flag")
    parser.add_argument("-R", "--repo", metavar="OWNER/NAME", help="the repository of all steps that name none")
    parser.add_switch("--verbose", "everything: details, routes, timings, round trips")
    options = parser.read(arguments)
    if (options.given is None) == (options.steps is None):
        raise UsageError("give the steps once, as JSON, or - to read them from standard input (see `ghx chain --help`)")
    steps = _with_repositories(_read(options.given if options.steps is None else options.steps), options.repo)
    result = anyio.run(_run, steps)
    write_json(result.to_wire() if options.verbose else result.to_compact(), indented=options.verbose)
    return 0 if result.status == "success" else FAILED


def _read(text: str) -> tuple[Step, ...]:
    value, _ = read_json(text, "STEPS")
    return read_steps(value)


def _with_repositories(steps: Sequence[Step], repository: str | None) -> list[Step]:
    named = None if repository is None else full_name(repository)
    if repository is not None and named is None:
        raise UsageError(f"--repo is {repository!r}; write owner/name")

    @cache
    def default() -> tuple[str, str] | None:
        return named or default_repository(os.environ, Path.cwd())

    return [
        replace(step, input=with_repository(ENTRIES[step.task], step.input, default)) if step.task in ENTRIES else step
        for step in steps
    ]


async def _run(steps: Sequence[Step]) -> ChainResult:
    async with client_from_environment(os.environ) as client:
        return await run_chain(client, steps)
