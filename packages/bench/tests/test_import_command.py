"""`ghx-bench import` as a user meets it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ghx_bench.cli.main import run
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows


def a_line(condition: str, task: str, number: int, **changes: Any) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "input_tokens": 1_200,
        "input_tokens_cached": 1_000,
        "input_tokens_uncached": 200,
        "output_tokens": 50,
        "reasoning_tokens": 0,
        "total_cost_usd": 0.25,
        "wall_clock_seconds": 8.5,
        "turn_count": 3,
        "command_count": 0,
        "error_count": 0,
        "command_log": [],
    }
    return {
        "condition": condition,
        "task": task,
        "run": number,
        "model": "a-model",
        "timestamp": "2026-03-21T18:00:10.000Z",
        "usage": usage,
        "grade": {"task_success": condition == "tool", "details": f"{condition} said so"},
        "agent_output": f"answer {number}",
        **changes,
    }


def lines() -> Iterator[dict[str, Any]]:
    for task in ("read_it", "do_it"):
        for number in (1, 2):
            yield a_line("tool", task, number)
            yield a_line("plain", task, number)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(here: Path) -> Path:
    (folder,) = (here / "results").iterdir()
    return folder


def test_rows_become_a_run_that_says_where_it_comes_from(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "results.jsonl", list(lines()))

    assert run(["import", "axi", "results.jsonl", "--agent", "claude-code"]) == 0

    folder = imported(here)
    record = read_record(folder / "run.json")
    assert capsys.readouterr().out.splitlines() == [
        f"8 sessions of 2 scenarios in 2 modes: results/{folder.name}",
        f"next: ghx-bench report results/{folder.name}",
    ]
    assert folder.name.startswith("axi_20260321T180001_")
    assert record.imported is not None
    assert (record.imported.format, record.imported.file) == ("axi", "results.jsonl")
    # In the order of the file, which is not that of the alphabet.
    assert record.matrix.modes == ("tool", "plain")
    assert record.matrix.scenario_ids == ("read_it", "do_it")
    assert (record.matrix.agents, record.matrix.models) == (("claude-code",), ("a-model",))
    assert record.matrix.repetitions == 2
    assert record.provenance == ()


def test_a_row_has_what_its_line_tells_and_nothing_else(here: Path) -> None:
    write(here / "results.jsonl", [a_line("plain", "read_it", 2)])

    assert run(["import", "axi", "results.jsonl"]) == 0

    (row,) = read_rows(imported(here) / "rows.jsonl")
    assert (row.started_at, row.completed_at) == ("2026-03-21T18:00:01.500Z", "2026-03-21T18:00:10.000Z")
    assert (row.agent_name, row.iteration, row.success) == ("unknown", 1, False)
    assert row.checkpoint_details[0].actual == "plain said so"
    known = row.known_metrics
    assert known["tokens_input"] == 200
    assert known["tokens_cache_read"] == 1_000
    assert known["tokens_total"] == 1_250
    assert known["tokens_active"] == 250
    assert known["latency_wall_ms"] == 8_500
    assert known["cost_total_usd"] == row.spent_usd == 0.25
    assert known["agent_turns"] == 3
    # Three turns without a single command: they were not counted.
    assert "tool_calls_total" not in known
    session = imported(here) / "sessions" / row.cell.path.with_suffix(".json")
    trace = SessionTrace.model_validate_json(session.read_bytes())
    assert [event.type for event in trace.events] == ["text_output"]
    assert trace.session_id == row.session_id


def test_what_a_line_does_not_tell_is_unknown(here: Path) -> None:
    bare = {"condition": "c", "task": "t", "run": 1, "grade": {"task_success": True}}
    write(here / "rows.jsonl", [bare])

    assert run(["import", "axi", "rows.jsonl"]) == 0

    (row,) = read_rows(imported(here) / "rows.jsonl")
    assert row.known_metrics == {}
    assert (row.model, row.session_id, row.started_at) == ("unknown", "", "")
    assert not (imported(here) / "sessions").exists()


def test_report_show_and_analyze_open_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "results.jsonl", list(lines()))
    assert run(["import", "axi", "results.jsonl", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)

    assert run(["report", made["directory"]]) == 0
    assert run(["show", made["directory"]]) == 0
    assert run(["show", made["directory"], "plain/do_it/1"]) == 0

    told = capsys.readouterr().out
    assert "8 of 8 cells" in told
    assert "says: answer 2" in told
    assert "plain said so" in told
    summary = json.loads((here / made["directory"] / "report" / "data" / "summary.json").read_text())
    assert summary["rows"] == 8


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "EOF while parsing an object"),
        ("[]", "Input should be an object"),
        (json.dumps({**a_line("a", "b", 1), "run": 0}), "run: Input should be greater than or equal to 1"),
        (json.dumps({**a_line("a", "b", 1), "run": "1"}), "run: Input should be a valid integer"),
        (json.dumps({**a_line("a", "b", 1), "grade": {}}), "grade.task_success: Field required"),
        (json.dumps({**a_line("a", "b", 1), "usage": {"turn_count": -1}}), "usage.turn_count: "),
        (json.dumps(a_line("a b", "c", 1)), "mode 'a b' cannot name a file"),
        (json.dumps(a_line("tool", "read_it", 1)), "as line 1; remove one"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_written(
    line: str, reason: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "rows.jsonl").write_text(f"{json.dumps(a_line('tool', 'read_it', 1))}\n\n{line}\n")

    assert run(["import", "axi", "rows.jsonl"]) == 2

    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: rows.jsonl:3: ")
    assert reason in said
    assert not (here / "results").exists()


def test_a_file_is_imported_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "results.jsonl", list(lines()))
    assert run(["import", "axi", "results.jsonl", "-o", "there"]) == 0

    assert run(["import", "axi", "results.jsonl", "-o", "there"]) == 2

    assert "results.jsonl: was imported before, as there/axi_" in capsys.readouterr().err
    assert len(list((here / "there").iterdir())) == 1


@pytest.mark.parametrize("content", [None, "", "\n \n"])
def test_a_file_without_rows_is_refused(content: str | None, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        (here / "rows.jsonl").write_text(content)

    assert run(["import", "axi", "rows.jsonl"]) == 2

    assert capsys.readouterr().err.startswith("error: rows.jsonl: ")


def test_an_imported_run_cannot_be_resumed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "results.jsonl", list(lines()))
    assert run(["import", "axi", "results.jsonl"]) == 0

    assert run(["resume", str(imported(here).relative_to(here))]) == 2

    assert "was imported" in capsys.readouterr().err


def test_the_published_rows_are_read_whole(shared: Path, here: Path) -> None:
    assert run(["import", "axi", str(shared / "compat" / "axi" / "results.jsonl")]) == 0

    record, rows = read_record(imported(here) / "run.json"), list(read_rows(imported(here) / "rows.jsonl"))
    assert len(rows) == record.matrix.total == 425
    assert record.matrix.modes == ("cli", "axi", "mcp-with-toolsearch", "mcp-no-toolsearch", "mcp-with-code-mode")
    solved = {mode: sum(row.success is True for row in rows if row.mode == mode) for mode in record.matrix.modes}
    assert (solved["cli"], solved["axi"]) == (73, 85)
    assert all({"tokens_active", "cost_total_usd", "latency_wall_ms"} <= row.known_metrics.keys() for row in rows)
