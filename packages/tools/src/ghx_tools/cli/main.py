"""Start `ghx`; on an agent's critical path, so only the modules of one command are loaded."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from ghx_base.commandline import BAD_USAGE, complain, exit_at_once, run_to_exit_code
from ghx_base.problems import did_you_mean, shortened
from ghx_base.version import VERSION

PURPOSE = "Typed GitHub operations for AI agents: one call in, one JSON envelope out."

COMMANDS = {
    "run": ("ghx_tools.cli.run", "Call one capability."),
    "chain": ("ghx_tools.cli.chain", "Call several capabilities, in order where that matters, together otherwise."),
    "capabilities": ("ghx_tools.cli.capabilities", "List, explain and search what there is to call."),
    "mcp": ("ghx_tools.cli.mcp", "Serve the capabilities as tools over the Model Context Protocol."),
    "skill": ("ghx_tools.cli.skill", "Print how to use this command, for an agent's instructions."),
    "doctor": ("ghx_tools.cli.doctor", "Say whether GitHub can be reached, and as whom."),
}
"""Commands by name: the module whose `main(arguments)` is the command, and what it is for."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that the arguments name and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] in (["run"], ["chain"]):
        # The process lives for a fifth of a second, and collecting garbage would take a tenth of that.
        gc.disable()
    # Pydantic looks through every installed package for plugins unless told not to; none is of use here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    exit_at_once(run(words))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; whatever a user can cause is one line on standard error."""
    try:
        return run_to_exit_code(lambda: _run_command(arguments))
    except SystemExit as asked_for_help:
        return int(asked_for_help.code or 0)


def _run_command(arguments: Sequence[str]) -> int:
    """Load and run the command that the first argument names."""
    match list(arguments):
        case [] | ["-h" | "--help" | "help", *_]:
            print(_help())
            return 0
        case ["--version", *_]:
            print(VERSION)
            return 0
        case [name, *_] if name in COMMANDS:
            return import_module(COMMANDS[name][0]).main(arguments[1:])
        case [name, *_]:
            hint = did_you_mean(name, COMMANDS, otherwise=_name_capability(arguments) or "see `ghx --help`")
            return complain(f"no command {shortened(name)}; {hint}", BAD_USAGE)
        case _:
            raise AssertionError(arguments)


def _name_capability(arguments: Sequence[str]) -> str | None:
    """Return how to call the capability that somebody used to `gh issue close 1` may mean by these words."""
    from ghx_tools.capabilities.index import ENTRIES

    for count in range(min(len(arguments), 3), 0, -1):
        id_ = ".".join(arguments[:count])
        if id_ in ENTRIES:
            return f"did you mean `ghx run {id_}`? (`ghx capabilities explain {id_}` tells its inputs)"
    if any(id_.startswith(f"{arguments[0]}.") for id_ in ENTRIES):
        return f"`ghx capabilities list {arguments[0]}` lists what `ghx run` can do with it"
    return None


def _help() -> str:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name.ljust(width)}  {purpose}" for name, (_, purpose) in COMMANDS.items())
    return f"""Usage: ghx COMMAND ...

{PURPOSE}

Commands:
{listed}

`ghx COMMAND --help` tells more, `ghx --version` the version. Exit codes: 0 done, 1 the task failed, 2 bad usage.
GitHub is where GITHUB_API_URL or GH_HOST say, github.com otherwise.
The token is GH_TOKEN, GITHUB_TOKEN or that of `gh`."""


if __name__ == "__main__":
    main()
