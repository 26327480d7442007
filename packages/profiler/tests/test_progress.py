"""A run shown as it goes on: counted, forecast, drawn, as lines and as a JSON log."""

import io
import json
import os
import re
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel, to_snake
from rich.cells import cell_len

from ghx_base.errors import InputError
from ghx_profiler.events import (
    ArmProgress,
    CanaryFinished,
    CanaryStarted,
    CellFinished,
    CellRetried,
    CellStarted,
    Event,
    RunFinished,
    RunStarted,
)
from ghx_profiler.plan.cell import Cell, Matrix
from ghx_profiler.progress import JsonLog, LineLog, choose_observer
from ghx_profiler.progress.live import LiveDisplay, draw
from ghx_profiler.progress.run_progress import CellCounts, RunProgress, forecast_rest_s
from ghx_profiler.progress.status_text import clock_time, one_line, rate, rough_time
from ghx_profiler.records.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import CheckpointDetail

T0 = datetime(2026, 3, 3, 12, tzinfo=UTC)
HOSTILE = "\x1b[2J\x1b[H[bold]gone[/bold]\r\n[1/1] ok \u202e\u2028\x9b31m\x07\udc80"


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def matrix(*, modes: int = 2, scenarios: int = 2, repetitions: int = 1, models: tuple[str, ...] = ("m",)) -> Matrix:
    return Matrix(
        models=models,
        modes=("baseline", "ghx", *(f"mode-{number}" for number in range(modes - 2)))[:modes],
        scenario_ids=tuple(f"scenario-{number:03}" for number in range(1, scenarios + 1)),
        repetitions=repetitions,
    )


def started(
    plan: Matrix,
    *,
    concurrency: int = 1,
    seconds: float = 0,
    done: int = 0,
    earlier: Mapping[str, CellCounts] | None = None,
) -> RunStarted:
    """Return the first event of a run; `earlier` is what an earlier part of it found, by mode."""
    known = earlier or {plan.modes[0]: CellCounts(ok=done)}
    before = {mode: known.get(mode, CellCounts()) for mode in plan.modes}
    several = len(plan.agents) > 1, len(plan.models) > 1
    return RunStarted(
        at=at(seconds),
        run_id="run_1",
        directory=Path("runs/run_1"),
        matrix=plan,
        provider="agent",
        max_concurrency=concurrency,
        done=sum(each.total for each in before.values()),
        arms=tuple(
            ArmProgress(
                agent=arm.agent or "",
                model=arm.model or "",
                mode=arm.mode,
                name=str(
                    replace(arm, agent=arm.agent if several[0] else None, model=arm.model if several[1] else None)
                ),
                ok=before[arm.mode].ok,
                wrong=before[arm.mode].wrong,
                failed=before[arm.mode].failed,
            )
            for arm in plan.arms
        ),
    )


def row(cell: Cell, success: bool | None = True, **known: Any) -> ProfileRow:
    values: dict[str, Any] = {
        "tokens": TokenUsage.of(input=20_000, output=1_667, cache_read=99),
        "timing": Timing(wall_ms=12_345),
        **known,
    }
    return ProfileRow(
        run_id="run_1",
        scenario_id=cell.scenario_id,
        mode=cell.mode,
        model=cell.model,
        iteration=cell.iteration,
        started_at="",
        completed_at="",
        tool_calls=ToolCallSummary(),
        cost=Cost(),
        success=success,
        checkpoints_passed=None,
        checkpoints_total=None,
        checkpoint_details=(),
        output_valid=None,
        provider="agent",
        session_id="s",
        agent_turns=None,
        completion_reason="stop",
        extensions={},
        **values,
    )


def finished(cell: Cell, success: bool | None = True, *, seconds: float = 0, **known: Any) -> CellFinished:
    return CellFinished(at=at(seconds), cell=cell, row=row(cell, success, **known))


def ended(*, seconds: float = 0, status: str = "complete", directory: str = "runs/run_1") -> RunFinished:
    return RunFinished(at=at(seconds), run_id="run_1", directory=Path(directory), status=status, measured=3, failed=1)


def progress_of(*events: Event) -> RunProgress:
    progress = RunProgress()
    for event in events:
        progress = progress.after(event)
    return progress


def constant_run(*, cells: int, concurrency: int, each_s: float) -> Iterator[Event]:
    """Yield the events of a run whose cells all take the same time."""
    plan = matrix(modes=1, scenarios=cells)
    waiting = plan.cells()
    yield started(plan, concurrency=concurrency)
    now, running = 0.0, list(islice(waiting, concurrency))
    yield from (CellStarted(at=at(now), cell=cell) for cell in running)
    while running:
        now += each_s
        for cell in running.copy():
            running.remove(cell)
            yield finished(cell, seconds=now)
            following = next(waiting, None)
            if following is not None:
                running.append(following)
                yield CellStarted(at=at(now), cell=following)


# -- counting


def test_cells_are_counted_by_what_was_found_out() -> None:
    one, two, three, four = matrix().cells()

    progress = progress_of(
        started(matrix()), finished(one, True), finished(two, False), finished(three, None), finished(four, True)
    )

    assert progress.counts == CellCounts(ok=2, wrong=1, failed=1)
    assert progress.done == progress.total == 4


def test_with_several_agents_cells_are_counted_by_agent_and_mode() -> None:
    plan = replace(matrix(scenarios=1), agents=("careful", "hasty"))

    progress = progress_of(started(plan), *(finished(cell, cell.agent == "hasty") for cell in plan.cells()))

    assert progress.by_arm == {
        "careful / baseline": CellCounts(wrong=1),
        "careful / ghx": CellCounts(wrong=1),
        "hasty / baseline": CellCounts(ok=1),
        "hasty / ghx": CellCounts(ok=1),
    }
    lines = [line.plain for line in draw(progress, at(9), width=80, height=12)]
    assert "careful / baseline    0%  0/1" in lines
    assert "hasty / ghx         100%  1/1" in lines


def test_with_several_models_cells_are_counted_by_model_and_mode() -> None:
    plan = matrix(modes=1, scenarios=1, models=("new", "old"))

    progress = progress_of(started(plan), *(finished(cell, cell.model == "new") for cell in plan.cells()))

    assert progress.by_arm == {"new / baseline": CellCounts(ok=1), "old / baseline": CellCounts(wrong=1)}


def test_a_resumed_run_shows_all_its_cells_in_the_order_of_its_modes() -> None:
    plan = replace(matrix(scenarios=2, repetitions=2), modes=("mode-z", "ghx"))
    left = [cell for cell in plan.cells() if cell.scenario_id == "scenario-002"]
    earlier = {"ghx": CellCounts(ok=1, wrong=1), "mode-z": CellCounts(ok=1, failed=1)}

    progress = progress_of(started(plan, earlier=earlier), *(finished(cell) for cell in left), ended())

    assert progress.done == progress.total == 8
    bar, counts, _, _, *modes = (line.plain for line in draw(progress, at(9), width=60, height=12))
    assert bar.endswith(" 8/8")
    assert counts.startswith("6 ok  1 wrong  1 not measured")
    assert modes == ["mode-z  100%  3/3  1 not measured", "ghx      75%  3/4"]


def test_cells_are_counted_by_mode_and_unknown_verdicts_are_left_out() -> None:
    cells = {(cell.mode, cell.scenario_id): cell for cell in matrix().cells()}

    progress = progress_of(
        started(matrix()),
        finished(cells["ghx", "scenario-001"], True),
        finished(cells["ghx", "scenario-002"], None),
    )

    assert progress.by_arm == {"baseline": CellCounts(), "ghx": CellCounts(ok=1, failed=1)}
    assert progress.by_arm["ghx"].scored == 1


def test_a_cell_runs_from_its_start_to_its_end() -> None:
    one, two, *_ = matrix().cells()
    before = progress_of(started(matrix()), CellStarted(at=T0, cell=one), CellStarted(at=T0, cell=two))

    assert list(before.running) == [one, two]
    assert list(before.after(finished(one)).running) == [two]
    assert not before.after(ended()).running


def test_earlier_progress_is_not_changed_by_what_comes_later() -> None:
    one, *_ = matrix().cells()
    before = progress_of(started(matrix()), CellStarted(at=T0, cell=one))

    before.after(finished(one))

    assert (before.done, list(before.running), before.by_arm[one.mode]) == (0, [one], CellCounts())


def test_cells_measured_before_count_as_done_and_not_for_the_rate() -> None:
    plan = matrix(scenarios=10)
    one, *_ = plan.cells()

    progress = progress_of(started(plan, done=5), CellStarted(at=T0, cell=one), finished(one, seconds=30))

    assert (progress.done, progress.total) == (6, 20)
    assert progress.rate_per_s(at(60)) == pytest.approx(1 / 60)


def test_the_warm_up_does_not_slow_the_rate() -> None:
    one, *_ = matrix().cells()

    progress = progress_of(
        started(matrix()),
        CanaryStarted(at=at(0), cell=one),
        CanaryFinished(at=at(100), cell=one),
        CellStarted(at=at(100), cell=one),
        finished(one, seconds=110),
    )

    assert progress.rate_per_s(at(110)) == pytest.approx(1 / 10)
    assert progress.elapsed_s(at(110)) == 110


def test_one_of_a_kind_is_not_written_in_the_plural() -> None:
    plan, stream = matrix(modes=1, scenarios=1), io.StringIO()
    log = LineLog(stream)
    (cell,) = plan.cells()

    log(started(plan))
    log(finished(cell, tokens=TokenUsage.of(input=1, output=0, cache_read=0)))
    log(RunFinished(at=at(1), run_id="run_1", directory=Path("r"), status="complete", measured=1, failed=0))

    first, middle, last = stream.getvalue().splitlines()
    assert first.startswith("run_1: 1 cell, 1 at a time")
    assert middle.endswith("  1 token")
    assert "1 cell measured, 0 not measured" in last


DOCUMENTED = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")


def documented_keys(name: str) -> set[str]:
    """Return the keys that the documentation gives an event, or a part of one: those in the last cell of its line."""
    (line,) = re.findall(rf"^\| `{name}` \|.*$", DOCUMENTED, flags=re.MULTILINE)
    return set(re.findall(r"`(\w+)`", line.rstrip(" |").rpartition("|")[2]))


@pytest.mark.parametrize("kind", [*get_args(Event), Cell, Matrix])
def test_every_key_of_the_json_log_is_documented(kind: type[Any]) -> None:
    assert documented_keys(to_snake(kind.__name__)) == {to_camel(each.name) for each in fields(kind)}


def test_every_key_of_arms_in_the_json_log_is_documented() -> None:
    assert documented_keys("arms") == {each.name for each in fields(ArmProgress)}


def test_a_warm_up_is_shown_while_it_lasts() -> None:
    one, *_ = matrix().cells()
    warming = progress_of(started(matrix()), CanaryStarted(at=T0, cell=one))

    assert warming.warming_up == one
    assert warming.after(CanaryFinished(at=T0, cell=one)).warming_up is None


def test_the_clock_stops_with_the_run() -> None:
    assert progress_of(started(matrix()), ended(seconds=7)).elapsed_s(at(1_000)) == 7


def test_nothing_is_known_before_the_first_event() -> None:
    progress = RunProgress()

    assert (progress.elapsed_s(T0), progress.rate_per_s(T0), progress.rest_s(T0)) == (0, None, None)


# -- forecasting


def test_one_cell_is_too_few_for_a_forecast() -> None:
    assert forecast_rest_s(finished=1, spent_s=10, running_s=[], waiting=9, max_concurrency=1) is None


def test_the_rest_takes_what_the_finished_cells_took_shared_by_those_at_work() -> None:
    assert forecast_rest_s(finished=2, spent_s=20, running_s=[], waiting=8, max_concurrency=1) == 80
    assert forecast_rest_s(finished=2, spent_s=20, running_s=[0, 0], waiting=6, max_concurrency=2) == 40


def test_a_running_cell_needs_what_is_left_of_the_mean() -> None:
    assert forecast_rest_s(finished=2, spent_s=20, running_s=[4], waiting=0, max_concurrency=8) == 6


def test_a_slow_cell_counts_before_it_is_finished() -> None:
    quick = forecast_rest_s(finished=2, spent_s=20, running_s=[5], waiting=8, max_concurrency=2)
    slow = forecast_rest_s(finished=2, spent_s=20, running_s=[100], waiting=8, max_concurrency=2)

    assert quick is not None
    assert slow is not None
    assert slow > 2 * quick


def test_the_last_cells_are_not_shared_by_more_than_there_are() -> None:
    assert forecast_rest_s(finished=9, spent_s=90, running_s=[0], waiting=0, max_concurrency=4) == 10


@given(cells=st.integers(3, 40), concurrency=st.integers(1, 6), each_s=st.floats(0.1, 1_000, allow_subnormal=False))
def test_the_end_of_an_even_run_is_foreseen_from_the_first_forecast_on(
    cells: int, concurrency: int, each_s: float
) -> None:
    events = list(constant_run(cells=cells, concurrency=concurrency, each_s=each_s))
    truth = events[-1].at
    progress = RunProgress()

    for event in events:
        progress = progress.after(event)
        if progress.ends_at is not None:
            # Off by the last, not quite full round at most.
            assert abs((progress.ends_at - truth).total_seconds()) <= each_s + 0.001


@given(st.lists(st.floats(1, 100), min_size=3, max_size=30), st.floats(1, 1_000))
def test_one_odd_cell_does_not_make_the_forecast_jump(usual: list[float], odd: float) -> None:
    plan = matrix(modes=1, scenarios=100)
    cells = plan.cells()
    now, progress = 0.0, progress_of(started(plan))
    before = None
    for took in (*usual, odd):
        cell = next(cells)
        progress = progress.after(CellStarted(at=at(now), cell=cell))
        now += took
        before, progress = progress.ends_at, progress.after(finished(cell, seconds=now))
    assert before is not None
    assert progress.ends_at is not None
    shift_s = abs((progress.ends_at - before).total_seconds())
    raw = forecast_rest_s(
        finished=len(usual) + 1, spent_s=now, running_s=[], waiting=99 - len(usual), max_concurrency=1
    )
    assert raw is not None
    assert shift_s == pytest.approx(abs(at(now + raw) - before).total_seconds() / 2, abs=0.001)


def test_between_two_cells_the_forecast_counts_down() -> None:
    *_, last = (
        progress for progress in all_tallies(constant_run(cells=4, concurrency=1, each_s=10)) if progress.done == 2
    )

    assert last.rest_s(at(20)) == 20
    assert last.rest_s(at(25)) == 15
    assert last.rest_s(at(50)) == 0


def all_tallies(events: Iterator[Event]) -> Iterator[RunProgress]:
    progress = RunProgress()
    for event in events:
        progress = progress.after(event)
        yield progress


def test_when_nothing_is_left_there_is_no_forecast() -> None:
    *_, last = all_tallies(constant_run(cells=4, concurrency=1, each_s=10))

    assert last.rest_s(at(40)) is None


# -- wording


@given(st.text(), st.integers(2, 50))
def test_text_of_others_becomes_one_bounded_line_without_control(text: str, limit: int) -> None:
    shown = one_line(text, limit)

    assert len(shown) <= limit
    assert not [character for character in shown if unicodedata.category(character)[0] == "C"]
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_harmless_text_is_left_alone() -> None:
    assert one_line("Größe [bold] 中文 ok") == "Größe [bold] 中文 ok"


def test_text_that_was_cut_says_so() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("a      " * 10, 8).endswith("…")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (7.9, "0:07"), (750, "12:30"), (3_600, "1:00:00"), (90_061, "25:01:01")]
)
def test_durations_read_as_on_a_clock(seconds: float, words: str) -> None:
    assert clock_time(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.1, "5 s"),
        (22, "20 s"),
        (54, "55 s"),
        (59, "1 min"),
        (400, "7 min"),
        (3_580, "1 h"),
        (7_800, "2 h 10 min"),
        (86_400, "24 h"),
    ],
)
def test_forecasts_are_no_finer_than_they_are_sure(seconds: float, words: str) -> None:
    assert rough_time(seconds) == words


def test_rates_are_told_in_a_unit_one_can_read() -> None:
    assert rate(0.5) == "30.0 cells/min"
    assert rate(0.001) == "3.6 cells/h"


# -- drawing


def drawn(progress: RunProgress, *, now: float = 0, width: int = 80, height: int = 24) -> list[str]:
    return [line.plain for line in draw(progress, at(now), width=width, height=height)]


def half_way() -> RunProgress:
    one, two, three, four = matrix().cells()
    return progress_of(
        started(matrix(), concurrency=2),
        CellStarted(at=at(0), cell=one),
        CellRetried(at=at(1), cell=one, attempt=1, error="503", pause_s=1),
        CellStarted(at=at(0), cell=two),
        finished(one, True, seconds=10),
        CellStarted(at=at(10), cell=three),
        finished(two, None, seconds=10),
        CellStarted(at=at(10), cell=four),
    )


def test_the_picture_tells_how_far_the_run_is() -> None:
    bar, counts, times, title, *_ = drawn(half_way(), now=12)

    assert bar.endswith(" 2/4")
    assert bar.count("━") == bar.count("─") == 38
    assert counts == "1 ok  0 wrong  1 not measured  2 running  1 retry"
    assert times == "0:12  about 10 s left  10.0 cells/min"
    assert title == "run_1  agent"


def test_the_picture_tells_the_success_of_each_mode() -> None:
    cells = [cell for cell in matrix(scenarios=3).cells() if cell.mode == "ghx"]
    verdicts = zip(cells, (True, True, None), strict=True)

    lines = drawn(progress_of(started(matrix(scenarios=3)), *(finished(cell, said) for cell, said in verdicts)))

    assert lines[4:6] == ["baseline     -  0/0", "ghx       100%  2/2  1 not measured"]


def test_the_picture_tells_what_runs_and_since_when() -> None:
    lines = drawn(half_way(), now=75)

    assert len(lines) == 8
    assert re.fullmatch(r" +1:05  (baseline|ghx)  scenario-002  #0  m", lines[-1])


def test_a_forecast_that_has_passed_is_not_told_as_a_number() -> None:
    assert "any moment now" in drawn(half_way(), now=500)[2]


def test_what_finds_no_place_is_counted() -> None:
    plan = matrix(modes=300, scenarios=2)
    running = [CellStarted(at=T0, cell=cell) for cell in islice(plan.cells(), 20)]

    lines = drawn(progress_of(started(plan), *running), width=40, height=9)

    assert len(lines) == 9
    assert lines[6] == "... and 298 more modes"
    assert lines[8] == "... and 19 more running"


def test_modes_take_the_room_that_running_cells_leave() -> None:
    lines = drawn(progress_of(started(matrix(modes=30))), height=20)

    assert sum(line.startswith(("baseline", "ghx", "mode-")) for line in lines) == 15
    assert lines[-1] == "... and 15 more modes"


def test_long_names_that_differ_at_their_end_stay_different() -> None:
    names = ("a-long-name-for-a-mode-with-tools-one", "a-long-name-for-a-mode-with-tools-two")
    plan = Matrix(models=("m",), modes=names, scenario_ids=("s",), repetitions=1)

    lines = drawn(progress_of(started(plan)), width=40)

    assert lines[4] != lines[5]
    assert {line.split("  ")[0][-4:] for line in lines[4:6]} == {"-one", "-two"}


sizes = st.integers(1, 120)


@given(
    width=sizes,
    height=st.integers(1, 40),
    modes=st.integers(1, 60),
    running=st.integers(0, 60),
    model=st.text(min_size=1, max_size=12),
)
def test_the_picture_fits_every_terminal(width: int, height: int, modes: int, running: int, model: str) -> None:
    assume(model.encode(errors="replace").decode() == model)
    plan = matrix(modes=modes, scenarios=2, repetitions=20, models=(model,))
    cells = list(plan.cells())
    events = [CellStarted(at=T0, cell=cell) for cell in cells[:running]]
    progress = progress_of(started(plan), *events, *(finished(cell, None) for cell in cells[: running // 2]))

    lines = draw(progress, at(5), width=width, height=height)

    assert 1 <= len(lines) <= height
    assert all(cell_len(line.plain) <= width and "\n" not in line.plain for line in lines)


# -- lines


def lines_of(*events: Event) -> list[str]:
    stream = io.StringIO()
    with LineLog(stream) as log:
        for event in events:
            log(event)
    return stream.getvalue().splitlines()


def test_a_finished_cell_is_one_line() -> None:
    plan = matrix(scenarios=20)
    cell = Cell(agent="fake", model="m", mode="baseline", scenario_id="scenario-001", iteration=3)

    assert lines_of(started(plan, done=11), finished(cell))[1] == (
        "[12/40] ok    baseline  scenario-001  #3  12.3 s  21,667 tokens"
    )


def test_names_stand_in_widths() -> None:
    plan = matrix(scenarios=20)
    ghx = Cell(agent="fake", model="m", mode="ghx", scenario_id="scenario-001", iteration=0)

    assert lines_of(started(plan), finished(ghx, False))[1] == (
        "[ 1/40] wrong ghx       scenario-001  #0  12.3 s  21,667 tokens"
    )


def test_models_are_named_if_there_are_several() -> None:
    plan = matrix(models=("small", "larger"))
    cell = Cell(agent="fake", model="small", mode="ghx", scenario_id="scenario-001", iteration=0)

    assert lines_of(started(plan), finished(cell))[1].startswith("[1/8] ok    small   ghx       scenario-001  #0")


def test_a_cell_that_could_not_be_measured_tells_its_reason_in_one_line() -> None:
    one, *_ = matrix().cells()
    line = lines_of(
        started(matrix()),
        finished(one, None, error="lost\nthe connection", timing=Timing(), tokens=TokenUsage()),
    )[1]

    assert line == f"[1/4] error {one.mode:<8}  scenario-001  #0  lost the connection"


def test_an_agent_that_was_stopped_tells_why_it_failed() -> None:
    one, *_ = matrix().cells()

    assert lines_of(started(matrix()), finished(one, False, error="took too long"))[1].endswith("  took too long")


def test_a_wrong_answer_tells_which_checkpoints_it_does_not_meet() -> None:
    one, *_ = matrix().cells()
    details = tuple(CheckpointDetail(id=id_, description="d", passed=id_ == "b") for id_ in "abc")
    found = row(one, False).model_copy(update={"checkpoint_details": details})

    line = lines_of(started(matrix()), CellFinished(at=at(0), cell=one, row=found))[1]
    assert line.endswith("  not met: a, c")


def test_tokens_are_the_active_ones_where_known_and_else_all() -> None:
    one, *_ = matrix().cells()

    assert "  7 tokens" in lines_of(started(matrix()), finished(one, tokens=TokenUsage(total=7)))[1]


def test_a_retry_tells_its_reason_and_pause() -> None:
    one, *_ = matrix().cells()
    retried = CellRetried(at=T0, cell=one, attempt=1, error="503 from the service", pause_s=2.4)

    assert lines_of(started(matrix()), retried)[1] == (
        f"[0/4] try1 {one.mode:<8}  scenario-001  #0  again in 2 s: 503 from the service"
    )


def test_beginning_and_end_of_a_run_are_lines() -> None:
    lines = lines_of(started(matrix(), concurrency=2, done=1), ended(seconds=65, status="interrupted"))

    assert lines == [
        "run_1: 4 cells, 1 of them done before, 2 at a time, agent agent: runs/run_1",
        "run interrupted after 1:05: 3 cells measured, 1 not measured: runs/run_1",
    ]


def test_events_without_a_line_write_nothing() -> None:
    one, *_ = matrix().cells()

    assert lines_of(CanaryStarted(at=T0, cell=one), CanaryFinished(at=T0, cell=one), CellStarted(at=T0, cell=one)) == []


def test_hostile_text_cannot_break_out_of_its_line() -> None:
    cell = Cell(agent="fake", model=HOSTILE, mode=HOSTILE, scenario_id=HOSTILE, iteration=0)
    plan = matrix(models=(HOSTILE.rstrip("\udc80"), "other"))
    events = [
        started(plan),
        CellRetried(at=T0, cell=cell, attempt=1, error=HOSTILE, pause_s=0),
        finished(cell, None, error=HOSTILE),
        ended(status=HOSTILE, directory=HOSTILE),
    ]

    lines = lines_of(*events)

    assert len(lines) == len(events)
    assert not [character for character in "".join(lines) if unicodedata.category(character)[0] == "C"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_lines_can_be_written_in_any_encoding(encoding: str) -> None:
    raw = io.BytesIO()
    one, *_ = matrix().cells()
    with LineLog(io.TextIOWrapper(raw, encoding=encoding)) as log:
        log(started(matrix()))
        log(finished(one, None, error="中文 Größe"))
        assert raw.getvalue().count(b"\n") == 2


# -- the JSON log


EVERY_KIND: tuple[Event, ...] = (
    started(matrix(), concurrency=2, done=1),
    CanaryStarted(at=T0, cell=next(matrix().cells())),
    CanaryFinished(at=T0, cell=next(matrix().cells())),
    CellStarted(at=T0, cell=next(matrix().cells())),
    CellRetried(at=T0, cell=next(matrix().cells()), attempt=1, error=HOSTILE, pause_s=float("inf")),
    finished(next(matrix().cells()), None, error=HOSTILE, error_code="X"),
    ended(),
)


def test_every_event_is_one_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonLog.open(str(path)) as log:
        for event in EVERY_KIND:
            log(event)

    assert path.read_bytes().isascii()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["event"] for record in records] == [
        "run_started",
        "canary_started",
        "canary_finished",
        "cell_started",
        "cell_retried",
        "cell_finished",
        "run_finished",
    ]
    assert {record["version"] for record in records} == {1}
    assert {record["at"] for record in records} == {"2026-03-03T12:00:00.000Z"}


def test_an_event_in_the_log_carries_all_that_it_is() -> None:
    stream = io.StringIO()
    for event in EVERY_KIND:
        JsonLog(stream)(event)
    begun, _, _, cell_started, retried, cell_finished, over = map(json.loads, stream.getvalue().splitlines())

    assert begun["matrix"]["scenarioIds"] == ["scenario-001", "scenario-002"]
    assert (begun["maxConcurrency"], begun["done"], begun["directory"]) == (2, 1, "runs/run_1")
    assert cell_started["cell"]["scenarioId"] == "scenario-001"
    assert (retried["attempt"], retried["error"], retried["pauseS"]) == (1, HOSTILE, None)
    assert ProfileRow.model_validate(cell_finished["row"]) == EVERY_KIND[5].row
    assert (over["status"], over["measured"], over["failed"]) == ("complete", 3, 1)


def test_every_line_is_on_disk_before_the_next_event(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonLog.open(str(path)) as log:
        for number, event in enumerate(EVERY_KIND, start=1):
            log(event)
            assert len(path.read_text().splitlines()) == number


def test_a_resumed_run_goes_on_in_the_same_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for _ in range(2):
        with JsonLog.open(str(path)) as log:
            log(EVERY_KIND[0])

    assert len(path.read_text().splitlines()) == 2


def test_a_dash_is_standard_error_and_stays_open(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonLog.open("-") as log:
        log(EVERY_KIND[0])
    print("still there", file=sys.stderr)

    first, second = capsys.readouterr().err.splitlines()
    assert json.loads(first)["event"] == "run_started"
    assert second == "still there"


def test_a_log_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write the log to .*name another file"):
        JsonLog.open(str(tmp_path / "missing" / "log.jsonl"))


def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(InputError, match="nothing reads this pipe"):
        JsonLog.open(str(tmp_path / "pipe"))


def test_a_pipe_that_is_read_no_more_holds_up_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    cell = Cell(agent="a", model="m", mode="plain", scenario_id="s", iteration=0)
    event = CellStarted(at=datetime(2026, 1, 1, tzinfo=UTC), cell=replace(cell, scenario_id="x" * 10_000))

    log = JsonLog.open(str(tmp_path / "pipe"))

    def write_more_than_the_pipe_holds() -> None:
        with log:
            for _ in range(100):
                log(event)

    with pytest.raises(BlockingIOError):
        write_more_than_the_pipe_holds()

    assert os.read(reader, 20).startswith(b'{"event": "cell_')
    os.close(reader)


# -- choosing, and the live display on a real terminal


class Terminal:
    """A pseudo-terminal whose other side is read all the time."""

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        self.stream: TextIO = os.fdopen(slave, "w", encoding="utf-8")
        self._read = bytearray()
        self._reader = threading.Thread(target=self._keep_reading, daemon=True)
        self._reader.start()

    def _keep_reading(self) -> None:
        try:
            while chunk := os.read(self._master, 65_536):
                self._read += chunk
        except OSError:
            # How Linux says that the other side was closed.
            return

    def output(self) -> str:
        self.stream.close()
        self._reader.join()
        os.close(self._master)
        return self._read.decode()


TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "20"}


def test_a_terminal_gets_the_live_display() -> None:
    terminal = Terminal()

    assert isinstance(choose_observer(terminal.stream, environment=TERMINAL), LiveDisplay)

    terminal.output()


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}, {"TERM": "unknown"}])
def test_a_terminal_that_cannot_be_redrawn_gets_lines(environment: dict[str, str]) -> None:
    terminal = Terminal()

    assert isinstance(choose_observer(terminal.stream, environment=environment), LineLog)

    terminal.output()


def test_lines_can_be_asked_for() -> None:
    terminal = Terminal()

    assert isinstance(choose_observer(terminal.stream, environment=TERMINAL, plain=True), LineLog)

    terminal.output()


def test_a_terminal_without_unicode_gets_lines() -> None:
    terminal = Terminal()
    terminal.stream.reconfigure(encoding="latin-1")

    assert isinstance(choose_observer(terminal.stream, environment=TERMINAL), LineLog)

    terminal.output()


def test_a_file_gets_lines(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        assert isinstance(choose_observer(stream, environment=TERMINAL), LineLog)


def show(*events: Event) -> str:
    terminal = Terminal()
    with choose_observer(terminal.stream, environment=TERMINAL) as display:
        for event in events:
            display(event)
    return terminal.output()


def test_the_live_display_ends_with_the_last_picture_and_the_result() -> None:
    one, two, *_ = matrix().cells()

    shown = show(started(matrix()), finished(one, True), finished(two, False), ended(seconds=65))

    last = shown[shown.rindex("2/4") :]
    assert "1 wrong" in last
    assert "complete" in last
    assert "run complete after 1:05: 3 cells measured, 1 not measured" in last


def test_the_cursor_is_hidden_while_the_display_lasts_and_shown_again() -> None:
    shown = show(started(matrix()), ended())

    assert shown.index("\x1b[?25l") < shown.rindex("\x1b[?25h")
    assert "\x1b[?25l" not in shown[shown.rindex("\x1b[?25h") :]


def test_the_cursor_is_shown_again_if_the_run_breaks_off() -> None:
    terminal = Terminal()
    with suppress(KeyboardInterrupt), choose_observer(terminal.stream, environment=TERMINAL) as display:
        display(started(matrix()))
        raise KeyboardInterrupt

    assert terminal.output().rstrip().endswith("\x1b[?25h")


def test_cells_that_could_not_be_measured_scroll_by_with_their_reason() -> None:
    one, two, *_ = matrix().cells()

    shown = show(started(matrix()), finished(one, None, error="no route"), finished(two, True), ended())

    assert shown.count("no route") == 1
    assert f"{two.mode:<8}  {two.scenario_id}  #0  12.3 s" not in shown


def test_hostile_text_reaches_the_terminal_without_its_teeth() -> None:
    cell = Cell(agent="fake", model=HOSTILE, mode=HOSTILE, scenario_id=HOSTILE, iteration=0)

    shown = show(
        started(matrix()),
        CanaryStarted(at=T0, cell=cell),
        CellStarted(at=T0, cell=cell),
        finished(cell, None, error=HOSTILE),
        ended(status=HOSTILE, directory=HOSTILE),
    )

    assert "[bold]gone[/bold]" in shown
    assert not [teeth for teeth in ("\x1b[2J", "\x1b[H", "\x9b", "\x07", "\u202e", "\u2028") if teeth in shown]


def test_output_meant_for_a_file_is_not_caught_by_the_display(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    terminal = Terminal()
    with choose_observer(terminal.stream, environment=TERMINAL) as display:
        display(started(matrix()))
        print("the result")
        display(ended())

    assert file.getvalue() == "the result\n"
    assert "the result" not in terminal.output()


def test_rich_is_not_loaded_without_a_terminal() -> None:
    program = (
        "import io, sys\n"
        "from ghx_profiler.progress import JsonLog, choose_observer\n"
        "choose_observer(io.StringIO(), environment={})\n"
        "sys.exit('rich' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
