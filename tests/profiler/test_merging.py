"""Shards that become one run: the same rows as in one piece, and whatever is not one run of shards is refused."""

import json
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import reduce
from pathlib import Path
from typing import Any

import anyio
import pytest
from nightly import mostly_nightly
from profiler_fakes import FakeProvider, FakeSession, SaysThree, config, scenario

from ghx_base.documents.section import settings_in
from ghx_base.files.locks import hold_lock
from ghx_bench.cli.stored.run_names import records_in
from ghx_bench.project.config import EvalConfig
from ghx_profiler.config import ProfileConfig, ProfileFile
from ghx_profiler.errors import BadRowsError, MergeError, RunDirectoryError, RunLockedError
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.profile import Profile
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.runner.instruments import Backoff, Instruments
from ghx_profiler.store.cleaning import Cleaner, copy_clean
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.merging import MergedRun, merge_runs, open_shards
from ghx_profiler.store.packs import write_pack
from ghx_profiler.store.record import RunRecord, read_record
from ghx_profiler.store.rows import read_rows

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TASKS = tuple(f"task-{number}" for number in range(4))
ARMS = {"modes": ["plain", "fancy"], "models": ["small", "large"]}


async def fails_now_and_then(session: FakeSession, text: str) -> Answer:
    """Answer right in one mode, wrong in the other, and not at all for one task: whatever rows can say."""
    if session.request.cell.scenario_id == "task-2":
        raise ConnectionError("no model today")
    session.call()
    return Answer(text="3" if session.request.mode.name == "fancy" else f"no idea of {text}")


async def measure(results: Path, *, shard: str | None = None, resume: Path | None = None) -> Path:
    """Run all tasks with two agents, models and modes, or one shard of that, and return the directory."""
    tasks = [scenario(each) for each in TASKS]
    agents = {"one": FakeProvider(fails_now_and_then), "other": FakeProvider(fails_now_and_then, name="second")}
    instruments = Instruments(providers=agents, scorer=SaysThree(), backoff=Backoff(first_s=0))
    found = Profile(scenarios=tasks, modes=[Mode(name=each) for each in ARMS["modes"]], instruments=instruments)
    settings = config(results, **ARMS, execution={"repetitions": 2, "shard": shard})
    return (await found.run(settings, resume=resume)).directory


async def measure_shards(folder: Path, count: int = 3) -> list[Path]:
    """Run every shard into results of its own, as on machines that know nothing of each other."""
    return [await measure(folder / f"on-{each}", shard=f"{each}/{count}") for each in range(1, count + 1)]


def merge(out: Path, runs: Sequence[Path], **options: Any) -> MergedRun:
    return merge_runs(out, open_shards(runs), **options)


def told(row: ProfileRow) -> dict[str, Any]:
    """Return what a row says that is not of this very run: neither its id, nor times, nor ids of sessions."""
    left_out = {"runId", "startedAt", "completedAt", "timing", "sessionId", "attempts", "provenanceId", "traceback"}
    return {key: value for key, value in row.to_wire().items() if key not in left_out}


def record_of(run: Path) -> RunRecord:
    return read_record(RunDirectory(run).record)


def edit_record(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    place = RunDirectory(run).record
    record = json.loads(place.read_bytes())
    change(record)
    place.write_text(json.dumps(record))


def drop_last_row(run: Path) -> None:
    place = RunDirectory(run).rows
    place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.mark.slow
@pytest.mark.parametrize("count", mostly_nightly([1, 3, 40], keep=[3]))
async def test_merged_shards_are_the_run_that_was_not_dealt_out(tmp_path: Path, count: int) -> None:
    whole = await measure(tmp_path / "whole")
    shards = await measure_shards(tmp_path, count)

    merged = merge(tmp_path / "out", list(reversed(shards)))

    rows = list(read_rows(tmp_path / "out" / "rows.jsonl"))
    assert [told(row) for row in rows] == [told(row) for row in read_rows(whole / "rows.jsonl")]
    assert len(rows) == merged.rows == 64
    assert {row.run_id for row in rows} == {merged.record.run_id}
    assert merged.measured == sum(row.was_measured for row in rows) == 48
    # Of 40 shards some have no block, and are as whole as the others.
    assert [each.shard for each in merged.record.merged] == [f"{each}/{count}" for each in range(1, count + 1)]
    assert (min(each.rows for each in merged.record.merged) == 0) == (count == 40)
    assert sum(each.rows for each in merged.record.merged) == 64
    here, there = record_of(tmp_path / "out"), record_of(whole)
    assert (here.status, here.differences(there), here.changes(there)) == ("complete", (), ())
    assert here.config == {**there.config, "output": record_of(shards[0]).config["output"]}
    for row in rows:
        place = RunDirectory(tmp_path / "out")
        assert row.success is None or json.loads(place.session(row.cell).read_bytes())["sessionId"] == row.session_id
    assert (tmp_path / "out" / "errors.log").read_text().count("no model today") >= 16


async def test_the_same_shards_make_the_same_run(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)

    merge(tmp_path / "a", shards)
    merge(tmp_path / "b", shards[::-1])

    for name in ("run.json", "rows.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


async def test_a_merged_run_is_resumed_where_cells_were_missing(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    cell = list(read_rows(shards[0] / "rows.jsonl"))[-1].cell
    rows = RunDirectory(shards[0]).rows
    rows.write_bytes(rows.read_bytes()[:-9])  # torn by a crash

    with pytest.raises(
        MergeError, match=rf"1 cell has no row \({cell}\); finish it with `ghx-bench resume {shards[0]}"
    ):
        merge(tmp_path / "out", shards)
    with pytest.raises(MergeError, match="shard 2/3 is missing"):
        merge(tmp_path / "out", [shards[0], shards[2]])
    merged = merge(tmp_path / "out", [shards[0], shards[2]], allow_missing=True)

    assert (merged.record.status, cell in merged.missing) == ("interrupted", True)
    assert merged.rows + len(merged.missing) == 64
    before = list(read_rows(tmp_path / "out" / "rows.jsonl"))
    await measure(tmp_path / "elsewhere", resume=tmp_path / "out")
    after = list(read_rows(tmp_path / "out" / "rows.jsonl"))
    assert after[: len(before)] == before
    assert {row.cell for row in after[len(before) :]} == set(merged.missing)
    assert record_of(tmp_path / "out").status == "complete"


async def test_a_shard_that_was_resumed_is_merged(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path, 2)
    drop_last_row(shards[1])

    with pytest.raises(MergeError, match=rf"`ghx-bench resume {shards[1]}`"):
        merge(tmp_path / "out", shards)
    await measure(tmp_path / "on-2", shard="2/2", resume=shards[1])

    assert merge(tmp_path / "out", shards).rows == 64


def changes_scenario(record: dict[str, Any]) -> None:
    record["scenarios"][1]["prompt"] = "What is 2 + 2?"


def changes_agent(record: dict[str, Any]) -> None:
    record["provenance"][-1]["ingredients"]["agent one: agent.py"] = "0123456789abcdef"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    mostly_nightly(
        [
            (changes_scenario, r"scenarios: task-1 \(prompt\)"),
            (changes_agent, "agent one: agent.py"),
            (lambda record: record["matrix"].update(seed=7), "seed 0, now 7"),
            (lambda record: record["matrix"].update(repetitions=3), "repetitions 2, now 3"),
            (lambda record: record["analysis"].update(alpha=0.01), "alpha 0.05, now 0.01"),
            (lambda record: record["modes"].update(fancy="0123456789abcdef"), "modes: fancy"),
            (lambda record: record["matrix"].update(shard="2/4"), "of two runs"),
            (lambda record: record["matrix"].update(shard="1/3"), "are both shard 1/3"),
            (lambda record: record["matrix"].pop("shard"), "is no shard, but a run of its own"),
        ],
        keep=3,
    ),
)
async def test_a_shard_of_another_plan_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    shards = await measure_shards(tmp_path)
    edit_record(shards[1], change)

    with pytest.raises(MergeError, match=words):
        merge(tmp_path / "out", shards)

    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("model", [ProfileFile, EvalConfig])
async def test_shards_have_to_agree_in_every_setting_that_is_not_said_to_be_free(
    tmp_path: Path, model: type[ProfileConfig]
) -> None:
    shards = await measure_shards(tmp_path)
    listed = model.FREE_IN_SHARDS | model.SET_BY_PLAN
    names = {".".join(each.path) for each in settings_in(model)}
    sections = {name.partition(".")[0] for name in names}
    assert listed <= names | sections | {"budget.run"}
    plain = json.loads(model(modes=tuple(ARMS["modes"])).model_dump_json())
    merged = refused = 0
    for name in sorted(names):
        *path, key = name.split(".")
        changed = deepcopy(plain)
        reduce(dict[str, Any].__getitem__, path, changed)[key] = "another"
        for run, settings in zip(shards, (plain, changed, plain), strict=True):
            edit_record(run, lambda record, settings=settings: record.update(config=settings))
        out = tmp_path / f"out-{name}"
        if any(name == each or name.startswith(f"{each}.") for each in listed):
            merge(out, shards, settings=model)
            merged += 1
        else:
            with pytest.raises(MergeError, match=rf"{re.escape(name)} \(1/3: .*; 2/3: another\)"):
                merge(out, shards, settings=model)
            refused += 1
    assert (merged > 15, refused > 10) == (True, True)


async def test_a_setting_may_name_the_folder_of_the_project_wherever_that_is(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    for run, folder in zip(shards, ("/a", "/b/c", "/c"), strict=True):
        edit_record(run, lambda record, folder=folder: record.update(startedIn=folder))
        edit_record(run, lambda record, folder=folder: record["config"].update(tools=[f"own={folder}/tool", "gh"]))

    assert merge(tmp_path / "out", shards).rows == 64


async def test_what_is_no_set_of_shards_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    rows = [each / "rows.jsonl" for each in shards]
    first, second = (place.read_bytes().splitlines(keepends=True) for place in rows[:2])

    def refuse(kind: type[Exception], words: str, runs: Sequence[Path] = shards, out: str = "out") -> None:
        with pytest.raises(kind, match=words):
            merge(tmp_path / out, runs)
        assert not (tmp_path / "out").exists()

    (tmp_path / "full").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refuse(MergeError, "no run to merge", ())
    refuse(MergeError, "is there already", out="full")
    refuse(MergeError, "is there already", out="link")
    refuse(MergeError, "are both shard 1/3", [*shards, shards[0]])
    refuse(RunDirectoryError, "not a run directory", [tmp_path])
    refuse(RunDirectoryError, r"rows\.jsonl: .*, then merge the shards again", out=str(rows[0] / "out"))
    with hold_lock(RunDirectory(shards[2]).lock):
        refuse(RunLockedError, "a process is working on this run")
    rows[0].write_bytes(b"".join([*first, first[0]]))
    refuse(MergeError, rf"rows.jsonl:{len(first) + 1}: cell .* has two rows")
    rows[0].write_bytes(b"".join([*first, second[0]]))
    refuse(MergeError, "does not belong to shard 1/3")
    rows[0].write_bytes(b"".join([b"{}\n", *first]))
    refuse(BadRowsError, "rows.jsonl:1: this is not a row")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["full", "link", "on-1", "on-2", "on-3"]


async def test_differences_that_make_no_other_plan_are_told(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)

    def change(record: dict[str, Any]) -> None:
        record["versions"]["python"] = "3.99.1"
        record["config"]["execution"]["max_concurrency"] = 4
        record["config"]["output"]["session_export"] = False

    edit_record(shards[2], change)
    (shards[1] / "rescored").mkdir()

    merged = merge(tmp_path / "out", shards)

    assert [str(each) for each in merged.differences] == [
        "concurrency (1/3, 2/3: 1; 3/3: 4)",
        "output.session_export (1/3, 2/3: yes; 3/3: no)",
        f"Python (1/3, 2/3: {sys.version.split()[0]}; 3/3: 3.99.1)",
    ]
    assert [each.partition(": ")[2] for each in merged.left_behind] == [
        "what `ghx-bench rescore` found; rescore the merged run"
    ]


async def test_machines_that_share_a_name_and_differ_are_told_apart(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    (name,) = record_of(shards[0]).machines
    edit_record(shards[1], lambda record: record["machines"][name].update(processors=96))

    merged = merge(tmp_path / "out", shards)

    assert merged.record.machines.keys() == {name, f"{name} #2"}
    assert merged.record.machines[f"{name} #2"].processors == 96
    by_machine = {row.cell: row.machine for row in read_rows(tmp_path / "out" / "rows.jsonl")}
    for run, now in zip(shards, (name, f"{name} #2", name), strict=True):
        assert {by_machine[row.cell] for row in read_rows(run / "rows.jsonl")} == {now}


async def test_a_run_that_is_resumed_on_another_machine_of_the_same_name_keeps_both(tmp_path: Path) -> None:
    run = await measure(tmp_path)
    ((name, here),) = record_of(run).machines.items()
    edit_record(run, lambda record: record["machines"][name].update(processors=96))

    for _ in range(2):
        drop_last_row(run)
        drop_last_row(run)
        await measure(tmp_path, resume=run)

    there = here.model_copy(update={"processors": 96})
    assert record_of(run).machines == {name: there, f"{name} #2": here}
    rows = [row.machine for row in read_rows(run / "rows.jsonl")]
    assert rows == [name] * 62 + [f"{name} #2"] * 2


async def test_machines_of_shards_that_were_resumed_elsewhere_keep_apart(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path, 2)
    (name,) = record_of(shards[0]).machines
    edit_record(shards[0], lambda record: record["machines"][name].update(processors=64))
    edit_record(shards[1], lambda record: record["machines"][name].update(processors=96))
    drop_last_row(shards[1])
    await measure(tmp_path / "on-2", shard="2/2", resume=shards[1])

    merged = merge(tmp_path / "out", shards).record.machines

    assert [*merged] == [name, f"{name} #2", f"{name} #3"]
    assert [each.processors for each in merged.values()][:2] == [64, 96]
    tally = Counter(row.machine for row in read_rows(tmp_path / "out" / "rows.jsonl"))
    first = sum(1 for _ in read_rows(shards[0] / "rows.jsonl"))
    assert tally == {name: first, f"{name} #2": 63 - first, f"{name} #3": 1}


async def test_files_beside_rows_are_copied_once_and_links_are_not_followed(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    for number, run in enumerate(shards):
        for name, text in {
            "worlds/seeded/0a.zip": "same",
            f"worlds/cells/a/{number}.zip": "own",
            "report/x": "old",
        }.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text(text)
    (shards[0] / "sessions" / "link.json").symlink_to("/etc/hostname")

    merge(tmp_path / "out", shards)

    assert sorted(
        path.relative_to(tmp_path / "out/worlds").as_posix() for path in (tmp_path / "out/worlds").rglob("*.zip")
    ) == [
        "cells/a/0.zip",
        "cells/a/1.zip",
        "cells/a/2.zip",
        "seeded/0a.zip",
    ]
    assert not (tmp_path / "out/report").exists()
    assert not (tmp_path / "out/sessions/link.json").exists()


async def test_packs_of_shards_are_merged_and_what_they_do_not_hold_is_told(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    (shards[0] / "worlds").mkdir()
    (shards[0] / "worlds" / "a.zip").write_text("a world")
    packs = [tmp_path / f"{number}.pack.zip" for number in range(3)]
    for run, pack in zip(shards, packs, strict=True):
        write_pack(tmp_path / pack.stem, copy_clean(run, tmp_path / pack.stem, Cleaner.of({}, ())), pack)

    merged = merge(tmp_path / "packed", packs)
    merge(tmp_path / "plain", shards)

    assert (tmp_path / "packed/rows.jsonl").read_bytes() == (tmp_path / "plain/rows.jsonl").read_bytes()
    assert [each.split(": ", 1)[1] for each in merged.left_behind] == [
        "not in its pack: worlds (1 file): the worlds that agents left"
    ]


_KILLED = """
import os, signal, sys
from pathlib import Path
from ghx_profiler.store import merging

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

out, moment, *runs = sys.argv[1:]
if moment == "before its name":
    Path.rename = die
shards = merging.open_shards([Path(run) for run in runs])
merging.merge_runs(Path(out), shards, watch=die if moment == "at a row" else None)
"""


@pytest.mark.process
@pytest.mark.parametrize("moment", ["at a row", "before its name"])
async def test_a_merge_that_was_killed_leaves_no_run_and_is_not_in_the_way(tmp_path: Path, moment: str) -> None:
    shards = await measure_shards(tmp_path)
    results = tmp_path / "results"

    killed = await anyio.run_process([sys.executable, "-c", _KILLED, results / "out", moment, *shards], check=False)

    assert killed.returncode == -signal.SIGKILL
    (left,) = results.iterdir()
    assert left.name != "out"
    assert list(records_in(results)) == []
    # As in a container, where the next process may have the same id: nothing of the first try is in its way.
    assert merge(results / "out", shards).rows == 64
    assert [each.name for each in results.iterdir()] == ["out"]


async def test_a_disk_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    shards = await measure_shards(tmp_path)
    session = next((shards[0] / "sessions").rglob("*.json"))
    session.unlink()
    session.mkdir()
    os.mkfifo(session / "pipe")  # what copying refuses

    with pytest.raises(RunDirectoryError, match="then merge the shards again"):
        merge(tmp_path / "results" / "out", shards)

    assert list((tmp_path / "results").iterdir()) == []
    shutil.rmtree(session)
