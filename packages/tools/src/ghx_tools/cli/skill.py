"""`ghx skill`: how to use this command, in the words of an agent's instructions."""

from collections.abc import Sequence

from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.cli.argument_parser import Parser

_TEXT = """---
name: ghx
description: Read and change GitHub issues, pull requests and repositories with typed calls that answer in JSON.
---

# ghx

One call: `ghx run TASK --flag value ...`. It prints `{"ok":true,"data":...}` and exits with 0, or
`{"ok":false,"error":{"code","message"}}` and exits with 1 (GitHub refused) or 2 (the call is wrong).

- `owner` and `name` are those of the git remote; elsewhere give `-R owner/name`.
- Inputs are flags (`--issueNumber 7 --labels bug,ui`) or one object: `--input '{"issueNumber":7}'` (`-`: stdin).
- To GitHub a pull request is an issue, too: `issue.labels.*`, `issue.assignees.*`, `issue.milestone.*`,
  `issue.comments.*` and `issue.timeline.list` take its number.
- `--fields number,title` keeps only these fields of the data, or of each item of a list.
- Lists are `{"items":[...],"pageInfo":{"hasNextPage","endCursor"}}`; read on with `--after ENDCURSOR`.
- Several calls in few round trips: `ghx chain '[{"task":"pr.view","input":{"prNumber":7}}, ...]'`. A step may use what
  an earlier one gave: `"{{steps.0.data.items.0.id}}"`. It prints `{"status","results":[{"task","ok","data"}]}`.
- Node ids (`issueId`, `threadId`) come from the `id` of what another call gives.
- `ghx capabilities explain TASK` tells inputs and outputs; `ghx capabilities search WORDS` finds a task.

## Tasks

`[x]` may be left out.

"""


def main(arguments: Sequence[str]) -> int:
    """Print the skill."""
    Parser("ghx skill", "Print how to use this command, as a skill for an agent (Markdown).").read(arguments)
    print(text())
    return 0


def text() -> str:
    """Return the skill: the rules, and every capability on a line."""
    return _TEXT + "\n".join(f"- `{each.id}` {each.inputs}" for each in ENTRIES.values())
