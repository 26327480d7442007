"""Worlds that sessions leave are kept with their run: which, what is in them, and what is never in them."""

import json
import os
import shutil
import signal
import time
import zipfile
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, start, write_files
from once import once
from saved_worlds import SCENARIO, agent_with_shell, issue_of, keep_worlds, open_shell, see

from ghx_bench.stages import saved_worlds
from ghx_bench.stages.saved_worlds import NoSavedWorldError, copy_work, read_world_record, reopen_world
from ghx_profiler.store.directory import RunDirectory

AGENTS = ("--agent", "reference", "--agent", "nop", "--scenario", SCENARIO)

# Whatever agents do with their token: in an address, in a file, and told to everybody.
TALKATIVE = """
set -e
gh api user --jq .login
repo=$(gh repo list ghx-bench --json nameWithOwner --jq '.[0].nameWithOwner')
git clone -q "https://x-access-token:$GH_TOKEN@github.com/$repo.git" checkout
git -C checkout switch -q -c left-behind
echo hello > checkout/hello.txt
git -C checkout add hello.txt
git -C checkout commit -q -m "Leave something behind"
git -C checkout push -q origin left-behind
echo "my token is $GH_TOKEN" > notes.txt
printf '#!/bin/sh\\necho ran\\n' > tool
chmod +x tool
mkdir empty
ln -s notes.txt inside
ln -s /etc/passwd outside
gh issue comment 1 -R "$repo" --body "my token is $GH_TOKEN"
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of *reference* and *nop* that kept all worlds."""
    return once(tmp_path_factory, "all-worlds", lambda folder: keep_worlds(folder, *AGENTS, "--keep-worlds", "all"))


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose agent left files, a branch, and its token everywhere."""

    def make(folder: Path) -> None:
        write_files(folder, {"agent.py": agent_with_shell(TALKATIVE)})
        keep_worlds(folder, "--agent", "agent.py", "--scenario", SCENARIO, "--keep-worlds", "failed")

    return once(tmp_path_factory, "talkative-world", make)


def kept_in(run: Path) -> set[str]:
    """Name the agents whose worlds were kept."""
    return {path.relative_to(run / "worlds/cells").parts[0] for path in (run / "worlds/cells").rglob("*.zip")}


def test_all_worlds_are_kept_and_what_they_began_with_once(both: Path) -> None:
    run = run_in(both)

    assert kept_in(run) == {"reference", "nop"}
    assert len(list((run / "worlds/seeded").iterdir())) == 1


def test_worlds_of_cells_that_were_not_solved_are_kept(tmp_path: Path) -> None:
    run = keep_worlds(tmp_path, *AGENTS, "--keep-worlds", "failed")

    assert kept_in(run) == {"nop"}
    assert {row.agent: row.success for row in rows_of(run)} == {"reference": True, "nop": False}


def test_the_configuration_says_which_worlds_are_kept(tmp_path: Path) -> None:
    config = f"modes: [baseline]\nscenarios: {{ids: [{SCENARIO}]}}\noutput: {{keep_worlds: failed}}\n"
    write_files(tmp_path, {"eval.config.yaml": config})

    assert kept_in(keep_worlds(tmp_path, "--agent", "nop")) == {"nop"}


def test_without_being_asked_for_no_world_is_kept_and_the_shell_says_how(tmp_path: Path) -> None:
    run = keep_worlds(tmp_path, "--agent", "nop", "--scenario", SCENARIO)

    assert not (run / "worlds").exists()
    done = open_shell(tmp_path, SCENARIO, "true")
    assert done.returncode == 2
    assert done.stderr.startswith("error: the world of this cell was not kept; `ghx-bench run --keep-worlds failed`")
    assert len(done.stderr.splitlines()) == 1


def test_worlds_of_github_itself_are_not_kept_which_is_said(tmp_path: Path) -> None:
    flags = ("--target", "github", "--repo", "o/r", "--keep-worlds", "all", "--dry-run", "--scenario", SCENARIO)
    done = fork_ghx_bench(tmp_path, "run", *flags)

    assert "note: output.keep_worlds is not used: worlds of the embedded GitHub are kept" in done.stderr


def test_an_unknown_choice_of_worlds_is_refused_in_one_line(tmp_path: Path) -> None:
    done = fork_ghx_bench(tmp_path, "run", "--keep-worlds", "some")

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "some" in done.stderr


def test_a_kept_world_is_what_the_agent_left_with_what_it_began_as(both: Path) -> None:
    run = run_in(both)
    solved, left_alone = sorted(rows_of(run), key=lambda row: not row.success)

    with reopen_world(RunDirectory(run), solved) as opened:
        assert opened.record.session_id == solved.session_id
        assert opened.record.answer
        assert opened.record.scenario["prompt"] != ""
        assert "{{" not in str(opened.record.scenario["prompt"])
        assert opened.world.database.clock == opened.seeded.world.database.clock
        assert opened.world.database.now() > opened.seeded.world.database.now()
    with reopen_world(RunDirectory(run), left_alone) as opened:
        assert opened.world.database.last_change() == opened.seeded.world.database.last_change()


def test_an_agents_folder_and_what_it_pushed_are_there_again(talkative: Path) -> None:
    listed = open_shell(talkative, SCENARIO, "sh", "-c", "./tool; ls; git -C checkout log --format=%s -1; cat inside")

    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.split("\n") == [
        *("ran", "checkout", "empty", "inside", "notes.txt", "tool", "Leave something behind", "my token is ***", ""),
    ]
    assert "not kept: outside: a link that leads out of the folder" in listed.stderr
    pushed = "git clone -q https://github.com/ghx-bench/fixtures.git again -b left-behind && cat again/hello.txt"
    assert open_shell(talkative, SCENARIO, "sh", "-c", pushed).stdout == "hello\n"


def test_no_secret_is_in_a_kept_world(talkative: Path) -> None:
    kept = list((run_in(talkative) / "worlds").rglob("*.zip"))

    assert len(kept) == 2
    for path in kept:
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        assert [name for name, each in content.items() if b"ghp_" in each] == []
    repo, _ = issue_of(run_in(talkative))
    comments = see(talkative, SCENARIO, "gh", "issue", "view", "1", "-R", repo, "--json", "comments")["comments"]
    assert comments[-1]["body"] == "my token is ***"


def test_a_secret_in_a_commit_costs_the_world_and_nothing_else(tmp_path: Path) -> None:
    script = TALKATIVE.replace("echo hello >", "echo $GH_TOKEN >")
    write_files(tmp_path, {"agent.py": agent_with_shell(script)})

    run = keep_worlds(tmp_path, "--agent", "agent.py", "--scenario", SCENARIO, "--keep-worlds", "all")

    (row,) = rows_of(run)
    assert [(each.where, each.code) for each in row.problems] == [("world", "SECRET_IN_WORLD")]
    assert row.success is False
    assert list((run / "worlds/cells").rglob("*.zip")) == []


def test_a_folder_that_is_too_large_is_left_out_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "work"
    write_files(source, {"a/one": "1" * 60, "a/two": "2" * 60})

    assert copy_work(source, tmp_path / "whole", redact=str) == ()
    monkeypatch.setattr(saved_worlds, "MOST_BYTES", 100)
    (reason,) = copy_work(source, tmp_path / "large", redact=str)
    assert reason.startswith("the folder that the agent worked in: 2 files")
    assert list((tmp_path / "large").iterdir()) == []
    monkeypatch.setattr(saved_worlds, "MOST_BYTES", 1000)
    monkeypatch.setattr(saved_worlds, "MOST_FILES", 1)
    assert len(copy_work(source, tmp_path / "many", redact=str)) == 1


def test_what_cannot_be_copied_is_named(tmp_path: Path) -> None:
    source = tmp_path / "work"
    write_files(source, {"fine": "x"})
    (source / "up").symlink_to("../secret")
    (source / "down").symlink_to("fine")
    os.mkfifo(source / "pipe")
    Path(os.fsdecode(bytes(source / "") + b"/\xff")).write_text("x")

    assert sorted(copy_work(source, tmp_path / "copy", redact=str)) == [
        "?: its name is no text",
        "pipe: no file",
        "up: a link that leads out of the folder",
    ]
    assert sorted(each.name for each in (tmp_path / "copy").iterdir()) == ["down", "fine"]


def test_a_world_of_another_session_of_the_cell_is_not_taken_for_that_of_the_row(both: Path, tmp_path: Path) -> None:
    shutil.copytree(run_in(both), tmp_path / "run")
    row = rows_of(tmp_path / "run")[0]
    later = row.model_copy(update={"session_id": "another"})

    with pytest.raises(NoSavedWorldError, match="of an earlier session"):
        read_world_record(RunDirectory(tmp_path / "run"), later)


def test_a_damaged_world_is_told_in_one_line(both: Path, tmp_path: Path) -> None:
    run = tmp_path / "results" / run_in(both).name
    shutil.copytree(run_in(both), run)
    for path in (run / "worlds/cells").rglob("*.zip"):
        path.write_bytes(path.read_bytes()[:-100])

    done = open_shell(tmp_path, "nop/none/baseline/" + SCENARIO, "true")

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be read" in done.stderr


def test_resuming_keeps_worlds_from_there_on(tmp_path: Path) -> None:
    run = keep_worlds(tmp_path, *AGENTS)
    rows = (run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run / "rows.jsonl").write_bytes(rows[0])
    again = json.loads(rows[1])["agent"]

    done = fork_ghx_bench(tmp_path, "resume", str(run), "--keep-worlds", "all", "--no-report", "--json")

    assert done.returncode == 0, done.stderr
    assert kept_in(run) == {again}


@pytest.mark.nightly
def test_a_run_that_is_killed_while_it_keeps_worlds_leaves_none_that_is_half(tmp_path: Path) -> None:
    flags = ("--agent", "nop", "--scenario", SCENARIO, "--mode", "baseline", "--repetitions", "40", "--skip-warmup")
    process = start(tmp_path, "run", *flags, "--keep-worlds", "all", "--json", "--no-report")
    # Half-written files have other names while they are written: once there is one, kill it in the middle.
    while process.poll() is None and len(list(tmp_path.glob("results/*/worlds/cells/**/*.zip"))) < 5:
        time.sleep(0.002)
    while process.poll() is None and not list(tmp_path.glob("results/*/worlds/cells/**/.*.zip.*")):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    run = run_in(tmp_path)
    done = {row.cell: row for row in rows_of(run)}
    assert 5 <= len(done) < 40
    for row in done.values():
        with reopen_world(RunDirectory(run), row) as opened:
            assert opened.record.session_id == row.session_id
    # What was cut off has no row, and is measured and kept again.
    resumed = fork_ghx_bench(tmp_path, "resume", str(run), "--json", "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    for row in rows_of(run):
        assert read_world_record(RunDirectory(run), row).session_id == row.session_id
    assert len([path for path in (run / "worlds/cells").rglob("*") if path.is_file()]) == 40
