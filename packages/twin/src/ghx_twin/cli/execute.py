"""`ghx-twin exec`: run a command that sees a world of its own as GitHub."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError
from ghx_base.foreground import exit_on_signals, run_in_foreground
from ghx_twin.cli.notes import print_notes
from ghx_twin.state.clock import ClockPolicy

if TYPE_CHECKING:  # loads git and the database, which the command does when it runs
    from ghx_twin.world import Snapshot, World


def execute(
    *command: Annotated[str, Parameter(help="The command and its arguments, after `--`.", allow_leading_hyphen=True)],
    seed: Annotated[Path | None, Parameter(help="The seed (YAML or JSON) of the world; else it has one user.")] = None,
    faults: Annotated[
        Path | None, Parameter(help="What goes wrong on purpose (YAML or JSON), beside the seed's own.")
    ] = None,
    user: Annotated[str | None, Parameter(help="Whom the command acts as; the first user if left out.")] = None,
    journal: Annotated[Path | None, Parameter(help="Write what it asked, one line of JSON for each request.")] = None,
    diff: Annotated[Path | None, Parameter(help="Write what it changed, as JSON.")] = None,
    reachable_host: Annotated[
        tuple[str, ...], Parameter(help="A host beside GitHub that it may reach; repeat it for several.")
    ] = (),
    clock: Annotated[ClockPolicy, Parameter(help="The time in it: the real one, or a second for each write.")] = "wall",
) -> int:
    """Boot a private world, run the command in it, and end with its exit code; nothing is left behind."""
    from ghx_base.files.scratch import sweep
    from ghx_twin.seed.worlds import add_faults, open_world, person
    from ghx_twin.server.loopback import Server
    from ghx_twin.server.tokens import own_token
    from ghx_twin.urls import covers_github

    if not command:
        raise InputError("name the command to run after `--`: ghx-twin exec -- gh repo list")
    if wrong := next(filter(covers_github, reachable_host), None):
        raise FlagError("--reachable-host", f"{wrong} would lead to the real GitHub; name the host that is needed")
    _require_writable(journal=journal, diff=diff)
    exit_on_signals()
    sweep()
    with open_world(seed, clock=clock) as world, Server() as server:
        if faults is not None:
            add_faults(world, faults)
        before = world.snapshot()
        world.seal()
        server.add(world)
        client = person(world, user)
        token = own_token(server.hosting, world, client)
        client_environment = server.client_environment(world, client, token=token, reachable_hosts=reachable_host)
        environment = client_environment.over(os.environ)
        code = run_in_foreground(command, environment)
        _write_findings(world, before, journal=journal, diff=diff)
        print_notes(world)
        return code


def _require_writable(*, journal: Path | None, diff: Path | None) -> None:
    """Refuse files that cannot be written before the command has run: its findings would be lost."""
    for flag, path in (("--journal", journal), ("--diff", diff)):
        if path is None or (path.exists() and not path.is_file() and not path.is_dir()):
            continue  # opening and closing a pipe would be its end for the reader
        is_new = not path.exists()
        with _naming_flag(flag, path):
            path.open("ab").close()
            if is_new:
                path.unlink()


def _write_findings(world: "World", before: "Snapshot", *, journal: Path | None, diff: Path | None) -> None:
    """Write the journal as lines of JSON and the difference as one array, where files were named."""
    from ghx_twin.difference import diff as find_differences

    if journal is not None:
        with _naming_flag("--journal", journal):
            lines = (f"{json.dumps(asdict(entry))}\n" for entry in world.journal)
            journal.write_text("".join(lines), encoding="utf-8")
    if diff is not None:
        differences = [asdict(difference) for difference in find_differences(before, world)]
        with _naming_flag("--diff", diff):
            diff.write_text(json.dumps(differences, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def _naming_flag(flag: str, path: Path) -> Generator[None]:
    """Raise what the system says of a file as an error of the flag that named it."""
    try:
        yield
    except OSError as error:
        raise FlagError(flag, f"{path} cannot be written: {error.strerror or error}") from error
