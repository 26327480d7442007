#!/usr/bin/env python
"""Write the page capabilities.md into docs/, or into the folder given; `make docs` calls this."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import Capability, capability
from ghx_tools.cli.schema_text import describe_values

DOCS = Path(__file__).parents[1] / "docs"

HEAD = """\
# Capabilities

A capability is one typed GitHub operation: named inputs, named outputs, one answer. `ghx` calls them from a shell,
`execute_task` from Python; both work with any GitHub: github.com, an enterprise server, or the embedded twin.

```console
$ ghx run issue.view --owner acme --name widgets --issueNumber 1 --fields title,state
$ ghx chain '[{"task":"issue.view","input":{"issueNumber":1}},{"task":"pr.view","input":{"prNumber":7}}]'
$ ghx capabilities list issue
$ ghx capabilities explain issue.labels.add --json
$ ghx capabilities search close issue
$ ghx doctor
```

`ghx run` prints `{"ok":true,"data":...}` and ends with 0, or `{"ok":false,"error":{"code","message"}}` and ends with 1
if GitHub refused, with 2 if the call was wrong: its capability, a flag, a field, a value, or a setting of the
environment. `ghx run` and `ghx chain` answer in JSON on standard output whatever they are given; only `--help` is
text. The other commands say what is wrong in a line on standard error.

`--verbose` prints the whole envelope: whether the same call may go well later (`retryable`), details, the route and the
time it took. `--fields a,b` keeps these fields of the data, or of each item of a list. `owner` and `name` are those of
the git remote `origin` where they are left out, if that is at the GitHub in use; `-R owner/name` names both. What is
named by a node id, such as a thread, is in no other repository: `-R` may be given there, and changes nothing.

A flag takes a list as `--labels bug,ui`, as `--labels bug --labels ui`, or as JSON, which names with commas in them
need: `--labels '["bug, confirmed","ui"]'`. `--labels ""` is the empty list. `--draft` is `--draft true`. Objects, and
lists of objects, are JSON. `--input` takes all inputs as one object, `--input -` reads it from standard input; flags
win over it.

Inputs are understood in camelCase and in snake_case, `repo` is understood as `name`, digits in a string as a number.
What a capability does not know it refuses, with the nearest name that it knows.

To GitHub a pull request is an issue with more to it, under the same numbers: where a capability of issues is about what
both have (labels, assignees, milestone, comments, timeline), its `issueNumber` may be that of a pull request.

## Several at once

`ghx chain` takes a list of steps and prints `{"status":"success"|"partial"|"failed","results":[...]}`, one result for
each step; if the steps cannot be read, nothing is called, and it prints
`{"status":"failed","results":[],"error":{"code","message"}}` and ends with 2. A step may use what an earlier one gave:

```console
$ ghx chain --steps - <<'JSON'
[{"task":"pr.threads.list","input":{"prNumber":7}},
 {"task":"pr.threads.reply","input":{"threadId":"{{steps.0.data.items.0.id}}","body":"Done."}},
 {"task":"pr.threads.resolve","input":{"threadId":"{{steps.0.data.items.0.id}}"}}]
JSON
```

Other names in two braces are left alone, and so is everything after a `$`: `${{ github.ref }}`. Dots lead on, `length`
is that of a list.

Steps happen as if one after the other: what reads sees every change before it, and none after it, and changes happen in
their order unless they are of different issues, pull requests or threads for sure. Steps that need not wait for each
other run at the same time and, where they are GraphQL, go out as one document: replies to ten threads take two round
trips, not twenty. A step that fails spoils only those that use what it would have given. The command
ends with 0 if all steps went well, else with 1. Steps that are in a file are given as `ghx chain - < FILE`. From
Python: `run_chain(client, read_steps([...]))` in `ghx_tools.capabilities.chain`.

## As tools for agents

`ghx mcp` serves the capabilities over the Model Context Protocol, on standard input and output, or with `--http PORT`
as streamable HTTP at `http://127.0.0.1:PORT/mcp`, for this machine only. Its clients act with your token of GitHub, so
they have to send one of the server's: `Authorization: Bearer TOKEN`, with the token in `GHX_MCP_TOKEN`, or without that
variable the one that is printed at the start.

```json
{"mcpServers": {"ghx": {"command": "ghx", "args": ["mcp", "--toolsets", "pr,issue", "--read-only"]}}}
```

`pr.threads.list` is the tool `pr_threads_list`; tools have the schemas of what they take and give, and say whether they
only read or delete something. `chain` is a tool, too. `--toolsets` chooses domains, which also go by the names that
GitHub's own server has for them (`actions`, `issues`, `projects`, `pull_requests`, `repos`), `--read-only` leaves out
what changes something, in chains as well.

Every revision of the protocol is spoken, from 2024-11-05 to 2026-07-28. Calls go on side by side and are answered as
they end; a client can cancel one, and is told the progress of a chain, step by step, if it asks for it. On standard
input and output the first answer takes about a tenth of a second: what calls need is loaded behind it, while the agent
thinks. The session ends with the client: when it closes its end, calls that go on are stopped.

## Which GitHub, and as whom

| variable | meaning |
|---|---|
| `GHX_UNIX_SOCKET` | a unix socket that leads to GitHub |
| `GITHUB_API_URL` | where the REST API is |
| `GITHUB_GRAPHQL_URL` | where GraphQL is, if not beside it |
| `GH_HOST` | the host of an enterprise server |
| `GH_TOKEN`, `GITHUB_TOKEN` | the token; the first of the two that is set, as for `gh` |
| `GHX_APP_ID`, `GHX_APP_PRIVATE_KEY_FILE`, `GHX_APP_INSTALLATION_ID` | an installation of a GitHub App, see below |

Without them, the settings of `gh` are used: `http_unix_socket` and the token of `hosts.yml`; and then github.com.

With the three variables of an app (its id or client id, the file of its private key, the number of the installation),
`ghx` and its MCP server act as the app's bot: the client signs a request with the private key, gets a token of the
installation for an hour, and another before that ends. They win over a token, and all three must be set. In Python it
is `GitHubClient(url, None, app=AppInstallation(...))`, from `ghx_tools.capabilities.app_installation`. The key is read
when a token is needed and goes nowhere.

Requests that only read are made again when a server fails for a moment or a connection breaks; those that change
something only if they were certainly not carried out. Rate limits are waited for, a minute in all at most, and a minute
where GitHub does not say how long. What GitHub has moved is read where it is now; a change is made there only if GitHub
asks for the same request again (307, 308) at its own address, and is refused otherwise, with the new address.

## Errors

| code | retryable | when |
|---|---|---|
| `VALIDATION` | no | the input is wrong, or GitHub refuses a value (400, 405, 409, 422; `UNPROCESSABLE`) |
| `NOT_FOUND` | no | what was named is not there, not there any more, or not to be seen (301, 404, 410; `NOT_FOUND`) |
| `AUTH` | no | the token is missing, wrong, or may not do this (401, 403; `FORBIDDEN`, `INSUFFICIENT_SCOPES`) |
| `RATE_LIMIT` | yes | too many requests (429; 403 that names a rate limit; `RATE_LIMITED`) |
| `SERVER` | yes | GitHub failed (5xx; an untyped GraphQL error); not retryable if its answer is not what it documents |
| `NETWORK` | yes | no answer came |
| `TOO_LARGE` | no | GitHub does not give out as much at once (406, 413; `MAX_NODE_LIMIT_EXCEEDED`) |
| `NOT_READY` | yes | GitHub is still working on it |
| `ADAPTER_UNSUPPORTED` | no | this GitHub cannot do it (501) |
| `UNKNOWN` | no | anything else |

A change that got no answer may have been made all the same. It is not repeated, and its error has `mayBeDone` among its
`details`: look before you repeat the call. Comments do that themselves (`issue.comments.create`,
`pr.comments.create`): the new comment is looked for first, and written again only if it is not there.

## From Python

```python
import anyio

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.execution import execute_task


async def main() -> None:
    async with GitHubClient("https://api.github.com", token=None) as client:
        envelope = await execute_task(client, "issue.view", {"owner": "acme", "nmae": "widgets"})
    assert envelope.error is not None
    assert envelope.error.message == "unknown input 'nmae'; did you mean 'name'?"


anyio.run(main)
```
"""


def page() -> str:
    """Return the whole page."""
    domains = dict.fromkeys(entry.domain for entry in ENTRIES.values())
    return HEAD + "".join(_domain_section(domain) for domain in domains)


def _domain_section(domain: str) -> str:
    sections = (_capability_section(capability(id_)) for id_, entry in ENTRIES.items() if entry.domain == domain)
    return f"\n## {domain}\n" + "".join(sections)


def _capability_section(called: Capability) -> str:
    mark = "" if called.entry.effect == "reads" else f" ({called.entry.effect})"
    example = json.dumps(dict(called.operation.example), ensure_ascii=False)
    return f"""
### {called.id}

{called.entry.description}{mark}

{_inputs(called)}
Gives {_outputs(called.output_schema)}.

Example: `{example}`
"""


def _inputs(called: Capability) -> str:
    """Return the inputs: the repository in a word, since most take one, and the rest in a table."""
    schema, names = called.input_schema, called.entry.signature.names
    of_repository = names[:2] == ("owner", "name")
    rest = names[2:] if of_repository else names
    first_line = f"Takes `owner`, `name`{' and' if rest else ''}:\n" if of_repository else "Takes:\n"
    rows = "".join(_row(name, schema["properties"][name], called) for name in rest)
    return f"{first_line}\n| input | | |\n|---|---|---|\n{rows}" if rows else "Takes `owner`, `name`.\n"


def _row(name: str, part: Mapping[str, Any], called: Capability) -> str:
    kind = _cell(describe_values(part, called.input_schema)) + _default(name, part, called)
    return f"| `{name}` | {kind} | {_cell(part.get('description', ''))} |\n"


def _default(name: str, part: Mapping[str, Any], called: Capability) -> str:
    if name in called.entry.signature.required:
        return ""
    value = part.get("default")
    return ", optional" if value is None or value == "" else f", `{json.dumps(value)}` if left out"


def _outputs(schema: Mapping[str, Any]) -> str:
    named = (f"`{name}` ({_cell(describe_values(part, schema))})" for name, part in schema["properties"].items())
    return ", ".join(named)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else DOCS
    (folder / "capabilities.md").write_text(page(), encoding="utf-8")
