"""A file of rows in which a row stands twice, or a crash cut off the last."""

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row

from ghx_profiler.errors import BadRowsError
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.store.rows import DistinctRows

NOW = "2026-04-01T12:00:00.000Z"


def rows_file(path: Path, rows: list[ProfileRow], *, rest: bytes = b"") -> Path:
    path.write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows) + rest)
    return path


@given(repeated=st.lists(st.integers(0, 4), max_size=12))
def test_exact_repeats_are_left_out_and_counted_wherever_they_stand(
    repeated: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [a_row(iteration=number) for number in range(5)]
    path = rows_file(tmp_path_factory.mktemp("rows") / "rows.jsonl", [*rows, *(rows[at] for at in repeated)])

    distinct = DistinctRows(path)

    assert list(distinct) == [row.upgraded() for row in rows]
    assert distinct.repeats == len(repeated)
    assert list(distinct) == [row.upgraded() for row in rows], "a second reading counts anew"
    assert distinct.repeats == len(repeated)


def test_a_repeat_that_is_spelled_otherwise_is_a_repeat(tmp_path: Path) -> None:
    row = a_row()
    path = rows_file(tmp_path / "rows.jsonl", [row], rest=b" " + row.to_bytes().replace(b":", b": ", 1) + b"\n")

    distinct = DistinctRows(path)

    assert list(distinct) == [row.upgraded()]
    assert distinct.repeats == 1


def test_rows_that_contradict_each_other_are_refused_with_both_lines(tmp_path: Path) -> None:
    path = rows_file(tmp_path / "rows.jsonl", [a_row(), a_row("mcp"), a_row(success=False)])

    with pytest.raises(BadRowsError) as refused:
        list(DistinctRows(path))

    assert str(refused.value).startswith(f"{path}:3: ")
    assert "line 1" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_same_cell_of_another_run_is_another_row(tmp_path: Path) -> None:
    rows = [a_row(runId="a"), a_row(runId="b", success=False)]

    assert list(DistinctRows(rows_file(tmp_path / "rows.jsonl", rows))) == [row.upgraded() for row in rows]


def test_a_torn_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    whole, torn = DistinctRows(rows_file(tmp_path / "whole.jsonl", [a_row()])), tmp_path / "torn.jsonl"
    distinct = DistinctRows(rows_file(torn, [a_row()], rest=a_row(iteration=1).to_bytes()[:40]))

    assert list(distinct) == list(whole) == [a_row().upgraded()]
    assert (distinct.is_torn, whole.is_torn) == (True, False)


def test_a_report_counts_repeats_once_and_says_so(tmp_path: Path) -> None:
    rows = [a_row(mode, iteration=number) for mode in ("baseline", "ghx") for number in range(3)]
    path = rows_file(tmp_path / "rows.jsonl", [*rows, *rows[:2]], rest=b'{"runId": "ru')

    made = generate_report(results=[path], generated_at=NOW, output_dir=tmp_path / "out", formats=["data", "markdown"])

    assert made.rows == 6
    assert "rows: 2 rows stand in the file twice and are counted once" in made.notes
    assert "rows: the last line is torn, as a crash leaves it, and was left out" in made.notes
    report = (tmp_path / "out" / "report.md").read_text().replace("\\", "")
    assert "2 rows stand in the file twice" in report
    assert "the last line is torn" in report
    assert made.summary["notes"] == list(made.notes[:2])


def test_a_byte_order_mark_before_the_first_row_is_no_part_of_it(tmp_path: Path) -> None:
    rows = [a_row(iteration=number) for number in range(2)]
    path = rows_file(tmp_path / "rows.jsonl", [*rows, rows[0]])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    distinct = DistinctRows(path)

    assert list(distinct) == [row.upgraded() for row in rows]
    assert distinct.repeats == 1


@pytest.mark.parametrize("change", [{}, {"tokens": "spelled otherwise"}])
def test_a_row_of_a_newer_version_is_refused_as_such(change: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**a_row().to_wire(), "version": 7, **change}) + "\n")

    with pytest.raises(BadRowsError, match=r"rows.jsonl:1: a row of version 7, and version 2 is the newest that this"):
        list(DistinctRows(path))


@pytest.mark.parametrize("said", ["x", "\ud800", float("nan"), {"half": ["\udfff"]}])
def test_a_row_is_in_another_process_what_it_would_be_in_a_file(said: object) -> None:
    row = a_row().model_copy(update={"extensions": {"said": said}})

    assert json.loads(pickle.loads(pickle.dumps(row)).to_bytes()) == json.loads(row.to_bytes())
