"""What modes gave their agents, as a report shows it: of whatever run or rows it is made."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, write_run

from ghx_profiler import Answer, BaseScenario, Instruments, Mode, Profile, TraceRecorder
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.sections.conditions import format_fact
from ghx_profiler.scorers import AnswerScorer

pytestmark = pytest.mark.slow

TOOLS: dict[str, Any] = {"tools": [{"name": "ghx", "version": "0.1.0"}, {"name": "git", "version": None}]}
SERVERS: dict[str, Any] = {"mcp_servers": {"github": {"name": "github-mcp-server", "version": "0.20.1"}}}


def conditions_of(folder: Path, rows: list[Any], **record: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the page, the Markdown and what the summary says of modes."""
    made = generate_report([write_run(folder / "run", rows, **record)], sessions="none")
    texts = [(made.directory / name).read_text().split("<script>")[0] for name in ("index.html", "report.md")]
    summary = json.loads((made.directory / "data" / "summary.json").read_text())
    return texts[0].partition('id="conditions"')[2], texts[1].partition("## Conditions")[2], summary["modeDetails"]


def test_tools_servers_and_instructions_of_every_mode_are_shown(tmp_path: Path) -> None:
    rows = [a_row("ghx", extensions={"mode": TOOLS}), a_row("mcp", extensions={"mode": SERVERS})]
    details = {"ghx": {"instructions": "Use ghx.", "facts": TOOLS}, "mcp": {"instructions": None, "facts": SERVERS}}

    page, text, told = conditions_of(tmp_path, rows, mode_details=details)

    assert '<th scope="row">ghx</th><td>ghx 0.1.0, git</td><td>none</td><td>Use ghx.</td>' in page
    assert '<th scope="row">mcp</th><td>none</td><td>github: github-mcp-server 0.20.1</td><td>none</td>' in page
    assert "| ghx | ghx 0.1.0, git | none | Use ghx. |" in text
    assert told["ghx"] == {"recorded": True, "instructions": "Use ghx.", "facts": [TOOLS]}
    assert told["mcp"] == {"recorded": True, "instructions": None, "facts": [SERVERS]}


def test_long_instructions_are_folded_below_the_table_and_every_line_of_them_is_there(tmp_path: Path) -> None:
    long = "\n".join(["# Skill", *(f"Line {number}" for number in range(40)), "the end"])

    page, text, _ = conditions_of(tmp_path, [a_row()], mode_details={"ghx": {"instructions": long}})

    assert f"{len(long):,} characters, below" in page
    assert f"<details><summary>Instructions of ghx</summary><pre>{long}</pre>" in page
    assert "> \\# Skill\n> Line 0\n" in text
    assert "> the end\n" in text


def test_of_an_older_run_the_rows_tell_what_they_know_and_the_rest_is_not_recorded(tmp_path: Path) -> None:
    page, _, details = conditions_of(tmp_path, [a_row(extensions={"mode": TOOLS})])

    assert '<th scope="row">ghx</th><td>ghx 0.1.0, git</td><td>none</td><td>not recorded</td>' in page
    assert details["ghx"] == {"recorded": False, "instructions": None, "facts": [TOOLS]}


def test_of_rows_that_know_nothing_the_report_says_so(tmp_path: Path) -> None:
    page, text, details = conditions_of(tmp_path, [a_row(extensions={"mode": "a word"}), a_row("baseline")])

    for shown in (page, text):
        assert "What the modes gave their agents was not recorded." in shown
    assert details["ghx"] == {"recorded": False, "instructions": None, "facts": []}


def test_rows_of_a_mode_with_other_tools_are_told_apart_with_a_warning(tmp_path: Path) -> None:
    later = {"tools": [{"name": "ghx", "version": "0.2.0"}]}
    rows = [a_row(iteration=n, extensions={"mode": facts}) for n, facts in enumerate((TOOLS, later, TOOLS))]

    page, text, details = conditions_of(tmp_path, rows)

    assert "<td>ghx 0.1.0, git; or: ghx 0.2.0</td>" in page
    assert "Not all rows of a mode had the same tools: ghx." in text
    assert details["ghx"]["facts"] == [TOOLS, later]


def test_modes_of_several_runs_are_told_apart_by_run(tmp_path: Path) -> None:
    runs = [
        write_run(
            tmp_path / name,
            [a_row(runId=name, extensions={"mode": TOOLS})],
            run_id=name,
            mode_details={"ghx": {"instructions": f"As in {name}."}},
        )
        for name in ("one", "two")
    ]

    made = generate_report(runs, output_dir=tmp_path / "report", formats=["data"])

    details: Any = made.summary["modeDetails"]
    assert {mode: each["instructions"] for mode, each in details.items()} == {
        "ghx @ before": "As in one.",
        "ghx @ after": "As in two.",
    }


def test_facts_of_any_shape_are_written_in_one_short_line() -> None:
    assert format_fact(True) == "true"
    assert format_fact({"name": "x", "version": 3}) == "x 3"
    assert format_fact([1, {"a": None}]) == '1, {"a": null}'
    assert len(format_fact("x" * 10_000)) < 400


class SilentSession:
    """A session in which nothing is done."""

    async def prompt(self, text: str) -> Answer:
        """End the turn at once."""
        return Answer(text=text)

    async def trace(self) -> SessionTrace:
        """Return nothing."""
        return TraceRecorder().trace()


class Silent:
    """An agent whose sessions end at once."""

    name = "silent"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[SilentSession]:
        """Open a session."""
        yield SilentSession()


@pytest.mark.anyio
async def test_a_run_writes_down_what_its_modes_gave_and_the_report_and_the_session_show_it(tmp_path: Path) -> None:
    task = BaseScenario(id="greet-001", name="Greet", description="d", prompt="Say hello.", timeout_ms=60_000)
    mode = Mode(name="polite", instructions="Be polite.", facts={"tools": [{"name": "gh", "version": "2.1"}], "x": {1}})
    profile = Profile(
        scenarios=[task],
        modes=[mode],
        instruments=Instruments(provider=Silent(), scorer=AnswerScorer(lambda _: True)),
    )

    result = await profile.run(profile.default_config().override(results_dir=str(tmp_path), warmup=False))

    made = generate_report([result.directory])
    page = (made.directory / "index.html").read_text()
    assert '<th scope="row">polite</th><td>gh 2.1</td><td>none</td><td>1</td><td>Be polite.</td>' in page
    (session,) = (made.directory / "sessions").rglob("0.html")
    assert "<pre>Say hello.</pre>" in session.read_text()
    assert "<pre>Be polite.</pre>" in session.read_text()
