"""One call of a capability from a command that is not asynchronous itself."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from ghx_bench._base.commandline import BAD_USAGE, FAILED
from ghx_bench.capabilities.envelope import Envelope
from ghx_bench.capabilities.environment import client_from_environment
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.capabilities.registry import Capability, capability
from ghx_bench.cli.arguments import check_repository, from_json, overridden, read_words, with_repository
from ghx_bench.cli.output import answering, chosen_fields, only, write_json
from ghx_bench.cli.usage import UsageError


def call(task: str, given: Mapping[str, Any]) -> Envelope:
    """Call a capability on the GitHub that the environment names."""

    async def called() -> Envelope:
        async with client_from_environment(os.environ) as client:
            return await execute_task(client, task, given)

    return anyio.run(called)


_PURPOSE = """\
Call one capability and print what came of it as JSON: {"ok":true,"data":...} or
{"ok":false,"error":{"code":...,"message":...}}, also where the words of the call are wrong.
Exit codes: 0 done, 1 GitHub refused, 2 the call is wrong."""

_OPTIONS = """\
Options:
  --input JSON  all inputs as an object of JSON; - reads it from stdin
  --fields A,B  only these fields of the data, or of each item of a list
  --verbose     the whole envelope: details, route, timings
  --help        what you are reading"""

_INPUTS = """\
Every input of the capability is a flag: --issueNumber 1 (or --issue-number), --draft.
A list is --labels bug,ui, or --labels bug --labels ui, or JSON: --labels '["a, b", "c"]'.
owner and name are those of the git remote `origin` if left out; -R owner/name says both.
`ghx run TASK --help` lists the inputs of one capability."""


def main(arguments: Sequence[str]) -> int:
    """Call the capability that the arguments name and print its envelope."""
    return answering(lambda: _run(arguments), {"ok": False})


def _run(arguments: Sequence[str]) -> int:
    if not arguments:
        raise UsageError("name a capability: ghx run TASK ... (see `ghx capabilities list`, `ghx run --help`)")
    task, words = arguments[0], arguments[1:]
    if task in {"-h", "--help"}:
        return _say(f"Usage: ghx run TASK [inputs] [options]\n\n{_PURPOSE}\n\n{_OPTIONS}\n\n{_INPUTS}")
    if task.startswith("-"):
        raise UsageError(f"name the capability first: ghx run TASK {task} ... (see `ghx capabilities list`)")
    called = capability(task)
    read = read_words(called.entry, words, called.operation.input)
    if read.help:
        return _say(_help(called))
    given = {} if read.input is None else from_json(read.input)
    given = with_repository(called.entry, overridden(called.entry, given, read.given), _default_repository)
    check_repository(called.entry, given)
    return _call(called, given, fields=read.fields, verbose=read.verbose)


def _help(called: Capability) -> str:
    from ghx_bench.cli.schema_text import inputs_in_words

    usage = f"Usage: ghx run {called.id} [inputs] [options]"
    return f"{usage}\n\n{called.entry.description}\n\nInputs:\n{inputs_in_words(called, mark='--')}\n\n{_OPTIONS}"


def _call(called: Capability, given: Mapping[str, Any], *, fields: str | None, verbose: bool) -> int:
    names = None if fields is None else chosen_fields(fields, called.output_schema)
    envelope = call(called.id, given)
    if names is not None and envelope.ok:
        envelope = envelope.model_copy(update={"data": only(names, envelope.data)})
    write_json(envelope.to_wire() if verbose else envelope.to_compact(), indented=verbose)
    if envelope.ok:
        return 0
    return BAD_USAGE if envelope.meta.reason == "INPUT_VALIDATION" else FAILED


def _default_repository() -> tuple[str, str] | None:
    from ghx_bench.cli.remote import default_repository

    return default_repository(os.environ, Path.cwd())


def _say(text: str) -> int:
    print(text)  # noqa: T201 - the command line
    return 0
