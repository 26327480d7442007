"""`ghx-bench shell`: the world that an agent left, opened again for a person with `gh` and `git`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError
from ghx_base.foreground import exit_on_signals, run_in_foreground
from ghx_base.problems import did_you_mean
from ghx_bench.cli.flags import RunPath, Switch
from ghx_bench.cli.stored.cells import NamedCell, checkpoint_lines, figures, find_cell, print_line, result, shorten

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.stages.saved_worlds import ReopenedWorld
    from ghx_twin.state.records import User


def shell(
    run: RunPath,
    cell: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    as_login: Annotated[str | None, Parameter(name="--as")] = None,
    original: Switch = False,
    write: Switch = False,
) -> int:
    """Open the world that an agent left in a shell where `gh` and `git` find it as GitHub, in the agent's folder.

    Worlds are kept by `ghx-bench run --keep-worlds failed` or `all`. What is done in the shell is done to a copy.

    Parameters
    ----------
    run
        The directory of the run, its id, `latest`, or a blessed one by its name.
    cell
        A cell as `ghx-bench show RUN` names it: `mode/scenario/iteration`.
    command
        A command to run instead of a shell, after `--`; this command then ends with its exit code.
    as_login
        The user to act as; the agent's own unless given.
    original
        Open what the agent left, also if it was changed in a shell with --write since.
    write
        Keep what is done, for later shells and for `rescore --edited`, beside what the agent left.
    """
    from ghx_base.files.scratch import sweep
    from ghx_bench.modes.program_path import own_folders
    from ghx_bench.stages.saved_worlds import reopen_world
    from ghx_profiler.store.packs import is_pack_file
    from ghx_twin.server.loopback import Server

    named_cell = find_cell(run, cell)
    if is_pack_file(run):
        raise InputError(f"{run} is a pack, and packs have no worlds in them; name the directory of the run itself")
    exit_on_signals()
    sweep()
    with reopen_world(named_cell.directory, named_cell.row, edited=not original) as reopened:
        user = _find_user(reopened, as_login)
        for line in _describe(named_cell, reopened, user, is_written=write):
            print_line(line, file=sys.stderr)
        # Before the command writes there: what a pipe holds back would come after it.
        sys.stderr.flush()
        with Server() as server:
            server.add(reopened.world, is_default=True)
            client = server.client_environment(reopened.world, user, scopes=_scopes(reopened, user))
            environment = {**client.over(os.environ), "PS1": _prompt(named_cell)}
            # Sessions have `gh` and `ghx` of this installation, whatever else the path has under these names.
            environment["PATH"] = os.pathsep.join((*own_folders(), environment["PATH"]))
            code = run_in_foreground(command or _shell(), environment, directory=reopened.work)
        if write:
            reopened.save(secret=environment["GITHUB_TOKEN"])
            print(f"what was done is kept, beside what the agent left: {reopened.edited_place}", file=sys.stderr)
        return code


def _find_user(reopened: ReopenedWorld, login: str | None) -> User:
    from ghx_twin.state.records import User

    user_name = login or reopened.seeded.agent
    people = [each for each in reopened.world.database.all(User) if each.type != "Organization"]
    for each in people:
        if each.login.casefold() == user_name.casefold():
            return each
    hint = did_you_mean(user_name, [each.login for each in people])
    raise FlagError("--as", f"there is no user {user_name!r} in this world; {hint}")


def _scopes(reopened: ReopenedWorld, user: User) -> Iterable[str]:
    """Return what the token may do: for the agent, what its own could in the session."""
    from ghx_bench.stages.saved_worlds import staged_scenario
    from ghx_twin.viewer import EVERY_SCOPE

    scopes = staged_scenario(reopened.record).known_extensions.token_scopes
    return EVERY_SCOPE if scopes is None or user.login != reopened.seeded.agent else scopes


def _describe(cell: NamedCell, reopened: ReopenedWorld, user: User, *, is_written: bool) -> Iterator[str]:
    """Yield what the cell was, and what is open now."""
    row = cell.row
    yield f"{cell.title}: {result(row)}"
    if numbers := figures(row):
        yield f"  {numbers}"
    if row.error:
        yield f"  error: {shorten(row.error)}"
    for each in row.checkpoint_details:
        if not each.passed:
            yield from checkpoint_lines(each)
    prompt = reopened.record.scenario.get("prompt")
    yield f"prompt: {shorten(str(prompt).strip())}"
    if reopened.record.answer:
        yield f"answer: {shorten(reopened.record.answer.strip())}"
    yield from (f"not kept: {each}" for each in reopened.record.work_left_out)
    if reopened.record.edited:
        yield "this is not what the agent left: it was changed in a shell with --write (--original opens that)"
    whose = "the agent" if user.login == reopened.seeded.agent else "not the agent"
    yield f"acting as {user.login} ({whose}) in {reopened.work}"
    yield (
        "--write: what is done here is kept, beside what the agent left"
        if is_written
        else "this is a copy: what is done here is gone when it ends (--write keeps it)"
    )


def _prompt(cell: NamedCell) -> str:
    # Shells expand what stands in a prompt: nothing but plain characters of a name may get there.
    name = re.sub(r"[^\w./:@-]", "_", cell.record.matrix.name_cell(cell.row.cell))
    return rf"({name}) \W \$ "


def _shell() -> tuple[str, ...]:
    """Return a shell that reads no files of the user's: HOME is another one here."""
    bash = shutil.which("bash")
    words = ("sh",) if bash is None else (bash, "--noprofile", "--norc")
    return (*words, "-i") if sys.stdin.isatty() else words
