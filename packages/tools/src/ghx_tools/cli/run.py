"""`ghx run`: call one capability."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ghx_base.commandline import BAD_USAGE, FAILED
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.environment import blocking_client_from_environment, client_from_environment
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.registry import Capability, capability
from ghx_tools.capabilities.transports.blocking import run_to_end
from ghx_tools.cli.arguments import add_repository, check_repository, override, read_arguments, read_object
from ghx_tools.cli.output import answer_in_json, keep_fields, read_fields, write_json
from ghx_tools.cli.remote import default_repository
from ghx_tools.cli.usage import UsageError

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
    return answer_in_json(lambda: _run(arguments), {"ok": False})


def _run(arguments: Sequence[str]) -> int:
    if not arguments:
        raise UsageError("name a capability: ghx run TASK ... (see `ghx capabilities list`, `ghx run --help`)")
    task, words = arguments[0], arguments[1:]
    if task in {"-h", "--help"}:
        print(f"Usage: ghx run TASK [inputs] [options]\n\n{_PURPOSE}\n\n{_OPTIONS}\n\n{_INPUTS}")
        return 0
    if task.startswith("-"):
        raise UsageError(f"name the capability first: ghx run TASK {task} ... (see `ghx capabilities list`)")
    called = capability(task)
    read = read_arguments(called.entry, words, called.operation.input)
    if read.help:
        _print_help(called)
        return 0
    repository = override(called.entry, {} if read.input is None else read_object(read.input), read.given)
    repository = add_repository(called.entry, repository, lambda: default_repository(os.environ, Path.cwd()))
    check_repository(called.entry, repository)
    return _call(called, repository, fields=read.fields, verbose=read.verbose)


def _print_help(called: Capability) -> None:
    from ghx_tools.cli.schema_text import describe_inputs

    usage = f"Usage: ghx run {called.id} [inputs] [options]"
    inputs = describe_inputs(called, mark="--")
    print(f"{usage}\n\n{called.entry.description}\n\nInputs:\n{inputs}\n\n{_OPTIONS}")


def _call(called: Capability, values: Mapping[str, Any], *, fields: str | None, verbose: bool) -> int:
    # Checked before the call: a wrong --fields must not lose the outcome of a change.
    names = None if fields is None else read_fields(fields, called.output_schema)

    async def call(client: GitHubClient) -> Envelope:
        async with client:
            return await execute_task(client, called.id, values)

    blocking = blocking_client_from_environment(os.environ)
    if blocking is not None:
        envelope = run_to_end(call(blocking))
    else:
        import anyio

        envelope = anyio.run(call, client_from_environment(os.environ))
    if names is not None and envelope.ok:
        envelope = envelope.model_copy(update={"data": keep_fields(names, envelope.data)})
    write_json(envelope.to_wire() if verbose else envelope.to_compact(), indented=verbose)
    if envelope.ok:
        return 0
    return BAD_USAGE if envelope.meta.reason == "INPUT_VALIDATION" else FAILED
