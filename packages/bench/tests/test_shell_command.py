"""`ghx-bench shell`: the world an agent left, with `gh` and `git` that just work."""

import contextlib
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from bench_command import COMMAND, environment, fork_ghx_bench, left_in, run_in, write_files
from once import once
from saved_worlds import SCENARIO, issue_of, keep_worlds, open_shell, see

from ghx_bench.project.folders import BUILT_IN_SCENARIOS

SOLVED, LEFT_ALONE = (f"{agent}/none/baseline/{SCENARIO}/0" for agent in ("reference", "nop"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = ("--agent", "reference", "--agent", "nop", "--scenario", SCENARIO, "--keep-worlds", "all")
    return once(tmp_path_factory, "shell-worlds", lambda folder: keep_worlds(folder, *flags))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A folder with a run of its own that kept two worlds."""
    shutil.copytree(made / "results", tmp_path / "results")
    return tmp_path


@pytest.mark.parametrize(("cell", "state"), [(SOLVED, "CLOSED"), (LEFT_ALONE, "OPEN")])
def test_gh_sees_what_the_agent_left(cell: str, state: str, folder: Path) -> None:
    repo, number = issue_of(run_in(folder))

    assert see(folder, cell, "gh", "issue", "view", number, "-R", repo, "--json", "state") == {"state": state}
    assert left_in(folder) == []


def test_gh_and_ghx_are_those_of_the_session_whatever_the_path_has(folder: Path) -> None:
    other = folder / "bin" / "gh"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another gh\n")
    other.chmod(0o755)
    repo, number = issue_of(run_in(folder))
    look = f"gh issue view {number} -R {repo} --json state --jq .state && ghx --version"

    path = os.pathsep.join((str(other.parent), "/usr/bin", "/bin"))
    done = fork_ghx_bench(folder, "shell", "latest", SOLVED, "--", "sh", "-c", look, extra={"PATH": path})

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CLOSED\n")


def test_git_clones_and_pushes_in_it(folder: Path) -> None:
    repo, _ = issue_of(run_in(folder))
    script = f"""
        git clone -q https://github.com/{repo} here && cd here && git switch -q -c mine &&
        git commit -q --allow-empty -m Mine && git push -q origin mine &&
        gh api repos/{repo}/branches/mine --jq .commit.sha && git rev-parse HEAD
    """
    done = open_shell(folder, SOLVED, "sh", "-c", script)

    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second


def test_it_begins_with_what_the_cell_was(folder: Path) -> None:
    done = open_shell(folder, LEFT_ALONE, "pwd")

    told = done.stderr.splitlines()
    assert told[0] == f"nop/none/baseline/{SCENARIO}/0: wrong"
    assert any(line.startswith("  [ ] closed: The issue is closed") for line in told)
    assert not any("[x]" in line for line in told)
    (prompt,) = (line for line in told if line.startswith("prompt: One of the open issues in "))
    assert "{{" not in prompt
    assert told[-2] == f"acting as bench-agent (the agent) in {done.stdout.strip()}"
    assert told[-1] == "this is a copy: what is done here is gone when it ends (--write keeps it)"


def test_what_is_done_in_it_is_gone_unless_it_is_to_be_kept(folder: Path) -> None:
    repo, number = issue_of(run_in(folder))
    close = ("gh", "issue", "close", number, "-R", repo)
    look = ("gh", "issue", "view", number, "-R", repo, "--json", "state", "--jq", ".state")
    (place,) = run_in(folder).glob("worlds/cells/nop/**/*.zip")
    before = place.read_bytes()

    assert open_shell(folder, LEFT_ALONE, *close).returncode == 0
    assert open_shell(folder, LEFT_ALONE, *look).stdout == "OPEN\n"
    assert place.read_bytes() == before

    script = f"gh issue close {number} -R {repo} && echo kept > file && git clone -q https://github.com/{repo} checkout"
    written = open_shell(folder, LEFT_ALONE, "sh", "-c", script, flags=("--write",))
    assert written.returncode == 0, written.stderr
    assert "--write: what is done here is kept, beside what the agent left" in written.stderr
    again = open_shell(folder, LEFT_ALONE, *look)
    assert again.stdout == "CLOSED\n"
    assert "this is not what the agent left: it was changed in a shell with --write" in again.stderr
    assert place.read_bytes() == before
    original = open_shell(folder, LEFT_ALONE, *look, flags=("--original",))
    assert original.stdout == "OPEN\n"
    assert "this is not what the agent left" not in original.stderr
    assert open_shell(folder, LEFT_ALONE, "cat", "file").stdout == "kept\n"
    # And once more on top of that.
    assert (
        open_shell(folder, LEFT_ALONE, "gh", "issue", "reopen", number, "-R", repo, flags=("--write",)).returncode == 0
    )
    assert open_shell(folder, LEFT_ALONE, *look).stdout == "OPEN\n"


def test_another_user_can_be_acted_as(folder: Path) -> None:
    command = ("gh", "api", "user", "--jq", ".login")

    assert open_shell(folder, SOLVED, *command).stdout == "bench-agent\n"
    other = open_shell(folder, SOLVED, *command, flags=("--as", "bench-maintainer"))
    assert other.stdout == "bench-maintainer\n"
    assert "acting as bench-maintainer (not the agent)" in other.stderr
    nobody = open_shell(folder, SOLVED, *command, flags=("--as", "bench-maintaner"))
    assert nobody.returncode == 2
    assert "--as: there is no user 'bench-maintaner' in this world; did you mean 'bench-maintainer'?" in nobody.stderr


def test_the_token_may_do_what_that_of_the_agent_could(tmp_path: Path) -> None:
    limited = yaml.safe_load((BUILT_IN_SCENARIOS / f"issue/{SCENARIO}.yaml").read_text()) | {"id": "limited-001"}
    limited["extensions"] = {"targets": ["twin"], "tokenScopes": ["public_repo"]}
    write_files(tmp_path, {"scenarios/limited-001.yaml": json.dumps(limited)})
    keep_worlds(tmp_path, "--agent", "nop", "--keep-worlds", "failed")
    scopes = ("sh", "-c", "gh api -i user | grep -i '^x-oauth-scopes'")

    assert open_shell(tmp_path, "limited-001", *scopes).stdout.split(":")[1].strip() == "public_repo"
    other = open_shell(tmp_path, "limited-001", *scopes, flags=("--as", "bench-maintainer"))
    assert "repo," in other.stdout


def test_it_ends_as_its_command_does(folder: Path) -> None:
    assert open_shell(folder, SOLVED, "sh", "-c", "exit 7").returncode == 7
    assert open_shell(folder, SOLVED, "no-such-program").returncode == 127
    assert left_in(folder) == []


def test_without_a_command_it_is_a_shell(folder: Path) -> None:
    done = subprocess.run(
        [COMMAND, "shell", "latest", SOLVED],
        cwd=folder,
        env=environment(folder),
        input="gh api user --jq .login\nexit 5\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 5, done.stderr
    assert "bench-agent\n" in done.stdout


def test_on_a_terminal_it_is_an_interactive_shell_with_the_cell_in_its_prompt(folder: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "shell", "latest", SOLVED],
        cwd=folder,
        env=environment(folder),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, b"gh api user --jq .login\nexit 6\n")
    shown = b""
    with contextlib.suppress(OSError):  # what a terminal gives when nobody has it open any more
        while piece := os.read(ours, 1 << 16):
            shown += piece
    os.close(ours)

    assert process.wait() == 6, shown.decode()
    assert f"({SOLVED})".encode() in shown
    assert b"\rbench-agent\r\n" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("latest", "nop/none/baseline/no-such-001/0"), "has no cell 'nop/none/baseline/no-such-001/0'"),
        (("latest", SCENARIO), "names 2 cells; say which"),
        (("nowhere", SCENARIO), "is not the directory of a run"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(words: tuple[str, ...], says: str, folder: Path) -> None:
    done = fork_ghx_bench(folder, "shell", *words, "--", "true")

    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
