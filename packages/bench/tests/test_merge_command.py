"""`ghx-bench run --shard` and `merge`: what was measured in pieces, elsewhere, is a run like any other."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files
from once import once

from ghx_profiler.plan.shards import Shard, find_shard
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record, write_record

pytestmark = pytest.mark.slow

CONFIG = """
scenarios: {ids: [issue-triage-001, issue-find-and-close-001]}
modes: [baseline, ghx]
execution: {repetitions: 2, warmup: false}
output: {keep_worlds: all}
"""
PAGE = (Path(__file__).parents[3] / "docs" / "scaling.md").read_text()
SHOWN = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
ACTIONS, GITLAB, KUBERNETES = SHOWN
SHARDS = len(ACTIONS["jobs"]["measure"]["strategy"]["matrix"]["shard"])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in one piece, and one that was measured and merged by the workflow that the page shows.

    Every job has a checkout of its own.
    """

    def run(folder: Path) -> None:
        numbers = ACTIONS["jobs"]["measure"]["strategy"]["matrix"]["shard"]
        with ThreadPoolExecutor(4) as at_once:
            list(at_once.map(lambda number: run_job("measure", folder, f"node-{number}", str(number)), numbers))
        (folder / "stdout").write_text(run_job("merge", folder, "merge"))
        (folder / "whole").mkdir()
        write_files(folder / "whole", {"eval.config.yaml": CONFIG})
        assert fork_ghx_bench(folder / "whole", "run", "--no-report").returncode == 0

    return once(tmp_path_factory, "merged-shards", run)


def run_job(name: str, folder: Path, place: str, shard: str = "") -> str:
    """Run the steps of a job as a runner does: ours for real, those that move artifacts within the folder."""
    job, artifacts, told = folder / place, folder / "artifacts", ""
    job.mkdir()
    write_files(job, {"eval.config.yaml": CONFIG})
    for step in ACTIONS["jobs"][name]["steps"]:
        given = {key: str(value).replace("${{ matrix.shard }}", shard) for key, value in step.get("with", {}).items()}
        if step.get("run", "").startswith("ghx-bench"):
            _, *words = shlex.split(step["run"].replace("${{ matrix.shard }}", shard))
            done = fork_ghx_bench(job, *(each for word in words for each in expand(word, job)))
            assert done.returncode == 0, done.stderr
            told += done.stdout
        elif "upload-artifact" in step.get("uses", ""):
            shutil.copytree(job / given["path"], artifacts / given["name"])
        elif "download-artifact" in step.get("uses", ""):
            for each in artifacts.glob(given["pattern"]):
                shutil.copytree(each, job / given["path"] / each.name)
    return told


def expand(word: str, folder: Path) -> Sequence[str]:
    """Return the paths that a word of a command stands for, as a shell does."""
    return sorted(str(each.relative_to(folder)) for each in folder.glob(word)) or [word]


def shards_in(folder: Path) -> Sequence[str]:
    return sorted(str(each.parent) for each in folder.glob("node-*/shard/run_*/run.json"))


def told(row: ProfileRow) -> tuple[object, ...]:
    """Return what a row of the reference agent says wherever and whenever it was measured."""
    checks = [(each.id, each.description, each.passed, each.expected) for each in row.checkpoint_details]
    bindings = {name: value for name, value in row.bindings.items() if name != "run_id"}
    return row.cell, row.start_order, row.success, row.checkpoints_passed, checks, bindings, row.tool_calls.total


def test_eight_shards_as_processes_are_merged_into_the_rows_of_one_run(measured: Path) -> None:
    merged, whole = rows_of(measured / "merge" / "results" / "merged"), rows_of(run_in(measured / "whole"))

    assert [told(row) for row in merged] == [told(row) for row in whole]
    assert len(merged) == 8
    record = read_record(RunDirectory(measured / "merge" / "results" / "merged").record)
    assert [(each.shard, each.status) for each in record.merged] == [(f"{each}/8", "complete") for each in range(1, 9)]
    # Four blocks for eight machines: some had nothing to do, and ended well.
    assert min(each.rows for each in record.merged) == 0
    assert "8 rows of 8 shards: results/merged" in (measured / "stdout").read_text()
    assert (measured / "artifacts" / "merged" / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("words", "count", "job"),
    [
        (GITLAB["measure"]["script"][0], GITLAB["measure"]["parallel"], {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "8"}),
        (
            KUBERNETES["spec"]["template"]["spec"]["containers"][0]["args"][0],
            KUBERNETES["spec"]["completions"],
            {"JOB_COMPLETION_INDEX": "1"},
        ),
        (
            "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)),
            8,
            {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"},
        ),
    ],
    ids=["GitLab", "Kubernetes", "Slurm"],
)
def test_the_jobs_of_the_page_find_their_shard(words: str, count: int, job: dict[str, str]) -> None:
    (asked,) = re.findall(r"ghx-bench run --shard (\S+)", words)

    assert find_shard(asked, job) == Shard(2, count)


@pytest.mark.parametrize(
    ("before", "asked", "code"),
    [
        (None, "run --shard auto/8 --output-dir", 3),
        ("running", "resume", 3),
        ("failed", "resume", 3),
        ("interrupted", "resume", 3),
        ("complete", "", 0),
    ],
)
def test_a_pod_of_the_page_goes_on_until_every_cell_has_a_row(
    measured: Path, tmp_path: Path, before: str | None, asked: str, code: int
) -> None:
    results, command = tmp_path / "results", tmp_path / "bin" / "ghx-bench"
    results.mkdir()
    write_files(tmp_path, {"bin/ghx-bench": '#!/bin/sh\necho "$@"\nexit 3\n'})
    command.chmod(0o755)
    if before is not None:
        (shard,) = measured.glob("node-2/shard/run_*_2of8")
        shutil.copytree(shard, results / shard.name)
        place = RunDirectory(results / shard.name).record
        write_record(place, read_record(place).model_copy(update={"status": before}))
    script = KUBERNETES["spec"]["template"]["spec"]["containers"][0]["args"][0].replace("/results", str(results))

    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{command.parent}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(asked)
    assert ("2of8" in done.stdout) == (asked == "resume")


@pytest.mark.nightly
def test_a_merged_run_is_shown_reopened_rescored_reported_and_blessed_as_any_other(
    measured: Path, tmp_path: Path
) -> None:
    run, cell = "merged", "ghx/issue-find-and-close-001/1"
    shutil.copytree(measured / "merge" / "results" / "merged", tmp_path / "results" / "merged")

    (listed,) = printed(fork_ghx_bench(tmp_path, "list", "runs", "--json"))
    assert listed["runId"] == rows_of(tmp_path / "results" / "merged")[0].run_id
    assert "issue" in fork_ghx_bench(tmp_path, "show", run, cell).stdout
    shell = fork_ghx_bench(tmp_path, "shell", run, cell, "--", "gh", "api", "user", "--jq", ".login")
    assert (shell.returncode, shell.stdout.strip() != "") == (0, True), shell.stderr
    rescored = printed(fork_ghx_bench(tmp_path, "rescore", run, "--json"))["cells"]
    assert [(each["before"]["success"], each["after"]["success"]) for each in rescored] == [(True, True)] * 8
    assert fork_ghx_bench(tmp_path, "report", run, "--format", "data").returncode == 0
    assert fork_ghx_bench(tmp_path, "bless", run, "--name", "main").returncode == 0
    assert fork_ghx_bench(tmp_path, "compare", "main", str(run_in(measured / "whole"))).returncode == 0
    resumed = fork_ghx_bench(tmp_path, "resume", run, "--json")
    assert printed(resumed)["measured"] == 8


def test_shards_that_are_missing_twice_or_changed_are_refused_in_one_line(measured: Path, tmp_path: Path) -> None:
    shards = shards_in(measured)
    changed = tmp_path / "changed"
    shutil.copytree(shards[2], changed)
    record = json.loads((changed / "run.json").read_text())
    record["scenarios"][0]["prompt"] += " Hurry."
    (changed / "run.json").write_text(json.dumps(record))

    bad = {
        (*shards[:3], *shards[4:]): "is missing; name all 8",
        (*shards, shards[3]): "are both shard",
        (*shards[:2], str(changed), *shards[3:]): "(prompt)",
        (str(run_in(measured / "whole")),): "is no shard",
        (): "no run to merge",
    }
    for runs, reason in bad.items():
        done = fork_ghx_bench(tmp_path, "merge", "out", *runs)
        assert (done.returncode, done.stderr.count("\n"), reason in done.stderr) == (2, 1, True), done.stderr
        assert not (tmp_path / "out").exists()


def test_a_shard_is_no_baseline_and_is_neither_judged_nor_compared(measured: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG})
    shard = next(each for each in shards_in(measured) if rows_of(Path(each)))
    whole = str(run_in(measured / "whole"))

    for words in (
        ("bless", shard, "--name", "x"),
        ("run", "--against", shard, "--fail-on", "worse"),
        ("report", shard, "--fail-on", "wrong"),
        ("report", whole, shard, "--fail-on", "worse"),
        ("report", shard, whole, "--fail-on", "wrong"),
        ("compare", shard, whole),
        ("compare", whole, shard),
        ("compare", "--mode", "baseline", "--mode", "ghx", shard),
        ("merge", "out", *shards_in(measured), "--against", shard),
    ):
        done = fork_ghx_bench(tmp_path, *words)
        assert (done.returncode, done.stderr.count("\n"), "with `ghx-bench merge`" in done.stderr) == (2, 1, True), (
            words,
            done.stderr,
        )
    assert not {"out", "results"} & {each.name for each in tmp_path.iterdir()}


@pytest.mark.nightly
def test_a_merged_run_is_held_against_the_latest_whole_run_and_never_against_its_own_shards(
    measured: Path, tmp_path: Path
) -> None:
    for each in shards_in(measured):
        shutil.copytree(each, tmp_path / "results" / Path(each).name)
    shards = sorted(f"results/{each.name}" for each in (tmp_path / "results").iterdir())
    flags = ("--against", "latest", "--fail-on", "worse", "--no-report")

    alone = fork_ghx_bench(tmp_path, "merge", "results/a", *shards, *flags)
    assert (alone.returncode, "no whole run in results" in alone.stderr) == (2, True), alone.stderr
    before = run_in(measured / "whole")
    shutil.copytree(before, tmp_path / "results" / before.name)
    place = RunDirectory(tmp_path / "results" / before.name).record
    write_record(place, read_record(place).model_copy(update={"created_at": "2020-01-01T00:00:00.000Z"}))
    for name in ("b", "again"):  # the second time, the latest whole run is made of the same shards
        beside = fork_ghx_bench(tmp_path, "merge", f"results/{name}", *shards, *flags)
        assert beside.returncode == 0, beside.stderr
        settings = read_record(RunDirectory(tmp_path / "results" / name).record).config
        assert settings["against"] == f"results/{before.name}"
    itself = fork_ghx_bench(tmp_path, "merge", "results/c", *shards, "--against", "results/b")
    assert (itself.returncode, "was merged from the same shards" in itself.stderr) == (2, True), itself.stderr


def test_gates_on_the_command_line_of_a_shard_are_refused(tmp_path: Path) -> None:
    for gate in (("--fail-on", "wrong"), ("--against", "main")):
        done = fork_ghx_bench(tmp_path, "run", "--shard", "1/2", *gate)
        assert (done.returncode, "give it to `ghx-bench merge`" in done.stderr) == (2, True), done.stderr


@pytest.mark.nightly
def test_what_was_merged_without_a_shard_is_resumed_and_judged_by_the_same_gates(
    measured: Path, tmp_path: Path
) -> None:
    shards = [each for each in shards_in(measured) if rows_of(Path(each))]
    write_files(tmp_path, {"eval.config.yaml": CONFIG})

    merged = fork_ghx_bench(
        tmp_path, "merge", "out", *shards[1:], "--allow-missing", "--no-report", "--json", "--fail-on", "right"
    )
    assert merged.returncode == 3, merged.stderr
    left = len(rows_of(Path(shards[0])))
    assert (json.loads(merged.stdout)["total"], len(rows_of(tmp_path / "out"))) == (8, 8 - left)
    assert "measure them with: ghx-bench resume out" in merged.stderr

    resumed = fork_ghx_bench(tmp_path, "resume", "out", "--no-report")
    assert resumed.returncode == 1, resumed.stderr
    assert "right" in resumed.stderr
    assert sorted(str(row.cell) for row in rows_of(tmp_path / "out")) == sorted(
        str(row.cell) for row in rows_of(run_in(measured / "whole"))
    )


def test_a_merge_ends_as_the_run_would_with_gates_baseline_junit_and_a_summary(measured: Path, tmp_path: Path) -> None:
    flags = ("--junit", "junit.xml", "--markdown", "summary.md", "--fail-on", "right", "--fail-on", "worse")
    refused = fork_ghx_bench(tmp_path, "merge", "out", *shards_in(measured), *flags)
    assert (refused.returncode, (tmp_path / "out").exists()) == (2, False), refused.stderr

    before = run_in(measured / "whole")
    shutil.copytree(before, tmp_path / "results" / before.name)
    done = fork_ghx_bench(tmp_path, "merge", "out", *shards_in(measured), *flags, "--against", "latest", "--no-report")

    assert done.returncode == 1, done.stderr
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testcase")
    assert sum(case.find("failure") is not None for case in cases) == 1
    assert "right" in (tmp_path / "summary.md").read_text()
    settings = read_record(RunDirectory(tmp_path / "out").record).config
    # What is the latest run may be another one when this is resumed.
    assert settings["against"] == f"results/{before.name}"


PROFILE = """
from contextlib import asynccontextmanager
from ghx_profiler import *

class Session:
    async def prompt(self, text):
        return Answer(text="ok")
    async def trace(self):
        return SessionTrace(session_id="s")

class Agent:
    name = "tiny"
    @asynccontextmanager
    async def session(self, request):
        yield Session()

class Fine:
    async def score(self, evidence):
        return Score(success=evidence.mode.name == "one")

def scenario(id):
    return BaseScenario(id=id, name="s", description="s", prompt="p", timeout_ms=9000)

profile = Profile(
    scenarios=[scenario("a-001"), scenario("b-001")],
    modes=[Mode(name="one"), Mode(name="two")],
    instruments=Instruments(providers={"first": Agent(), "second": Agent()}, scorer=Fine()),
)
"""


def test_the_shards_of_a_profile_are_merged_and_judged(tmp_path: Path) -> None:
    for number in ("1", "2"):
        folder = tmp_path / number
        folder.mkdir()
        write_files(folder, {"mine.py": PROFILE})
        job = {"CI_NODE_INDEX": number, "CI_NODE_TOTAL": "2"}
        words = ("profile", "mine.py", "--repetitions", "3", "--shard", "auto")
        refused = fork_ghx_bench(folder, *words, "--fail-on", "wrong", extra=job)
        assert (refused.returncode, "give it to `ghx-bench merge`" in refused.stderr) == (2, True), refused.stderr
        done = fork_ghx_bench(folder, *words, extra=job)
        assert done.returncode == 0, done.stderr
        over = fork_ghx_bench(folder, "resume", str(run_in(folder)), "--fail-on", "wrong")
        assert (over.returncode, "give it to `ghx-bench merge`" in over.stderr) == (2, True), over.stderr
    runs = [str(run_in(tmp_path / number)) for number in ("1", "2")]

    wrong = fork_ghx_bench(tmp_path, "merge", "a", *runs, "--fail-on", "wrong")
    fine = printed(fork_ghx_bench(tmp_path, "merge", "b", *runs, "--json"))

    assert wrong.returncode == 1, wrong.stderr
    assert (fine["measured"], fine["notMeasured"], fine["directory"]) == (24, 0, "b")
    assert fork_ghx_bench(tmp_path, "resume", "b").returncode == 0
