"""A report as it lies on disk: every file is there, says what the rows say, and is the same every time."""

import csv
import json
import re
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import altair
import pytest
from jsonschema import Draft202012Validator
from nightly import mostly_nightly
from older_tools import MEDIANS
from older_tools import METRICS as MEDIAN_METRICS
from report_runs import a_row, made_up_rows, write_run

from ghx_base.clock import SystemClock, timestamp
from ghx_base.extras import MissingExtraError
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.reports import NothingToReportError, ReportDirectoryError, generate_report
from ghx_profiler.reports.data.material import gather
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_sources
from ghx_profiler.reports.report import _document
from ghx_profiler.reports.report_document import Chart
from ghx_profiler.reports.sections.headline import headline_of
from ghx_profiler.stats.plan import AnalysisPlan

pytestmark = pytest.mark.slow

NOW = "2026-04-01T12:00:00.000Z"

NUMBER = {"type": ["number", "null"]}
COUNT = {"type": "integer", "minimum": 0}
SUMMARY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["version", "generatedAt", "control", "rows", "plan", "modes", "comparisons", "scenarios", "failures"],
    "properties": {
        "version": {"const": 1},
        "control": {"type": "boolean"},
        "rows": COUNT,
        "modes": {
            "additionalProperties": {
                "required": ["success", "metrics", "passCurve", "costPerSuccess"],
                "properties": {
                    "success": {
                        "required": ["k", "n", "low", "high", "method", "perProtocol"],
                        "properties": {"k": COUNT, "n": COUNT, "low": NUMBER, "high": NUMBER},
                    },
                    "metrics": {
                        "additionalProperties": {
                            "required": ["n", "leftOut", "leftOutCauses", "p50", "p90", "mean", "medianInterval"],
                            "properties": {"n": COUNT, "leftOut": COUNT, "p50": NUMBER, "p90": NUMBER, "mean": NUMBER},
                        }
                    },
                },
            }
        },
        "comparisons": {
            "items": {
                "required": [
                    *("a", "b", "metric", "target", "reductionPct", "low", "high"),
                    *("p", "pAdjusted", "verdict", "n", "mde"),
                ],
                "properties": {
                    "target": {"enum": ["suite", "population"]},
                    "verdict": {
                        "enum": ["better", "worse", "lower", "higher", "equivalent", "inconclusive", "not estimable"]
                    },
                    "p": {"anyOf": [{"type": "null"}, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}]},
                    "n": COUNT,
                },
            }
        },
    },
}


class Page(HTMLParser):
    """What a browser would make of a page: its elements, links and texts."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.texts: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.ids.add(given.get("id") or "")
        self.sources += [value for name in ("src", "srcset", "data") if (value := given.get(name))]
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "link":
            self.sources.append(given.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def charts_of(run: Path) -> tuple[Chart, ...]:
    material = gather(read_sources(open_sources([run], [])), (), METRICS)
    return _document(material, headline_of(material), NOW).charts


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run_1", made_up_rows(scenarios=6))


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    return generate_report([run], generated_at=NOW).directory


def test_every_file_is_there(report: Path, run: Path) -> None:
    names = set(files_of(report))

    assert report == run / "report"
    assert {"index.html", "report.md", "analysis.md", "sessions/index.html"} <= names
    assert {"data/results.csv", "data/results.json", "data/summary.json"} <= names
    assert {
        "charts/forest-amounts.svg",
        "charts/pass-k.svg",
        "charts/failures.svg",
        "charts/spend-success.svg",
    } <= names


def test_the_page_opens_with_the_answer_then_charts_and_the_matrix_and_folds_the_rest(report: Path) -> None:
    text = (report / "index.html").read_text()

    ids = re.findall(r'<section id="([a-z]+)"', text)
    assert ids == [
        *("glance", "matrix", "verdicts", "differences", "numbers", "distributions", "reliability", "spending"),
        *("scenarios", "failures", "findings", "sessions", "conditions"),
    ]
    assert text.count('<details class="section">') == len(ids) - 2
    heading = text.partition("<h1>")[2].partition("</h1>")[0]
    assert "ghx succeeds more often than baseline: 100 % instead of 53 %, and costs 37 % less" in heading
    assert (
        text.index("<h1>") < text.index('class="chips"') < text.index('class="intervals"') < text.index("matrix list")
    )


def test_names_and_units_are_those_of_people_until_a_reader_unfolds(report: Path) -> None:
    first_screen = (report / "index.html").read_text().partition('<section id="verdicts"')[0].partition("<body>")[2]

    assert "wall time" in first_screen
    assert not re.search(r"latency_wall_ms|tokens_active|cost_total_usd|\bp = |\bp-value", first_screen)


def test_a_cell_of_the_matrix_leads_to_its_sessions(report: Path) -> None:
    cells = re.findall(r'<td class="(\w+)"><a href="([^"]+)">(\d)/(\d)</a></td>', (report / "index.html").read_text())

    assert {kind for kind, *_ in cells} == {"full", "part", "none"} & {kind for kind, *_ in cells} | {"full", "part"}
    assert all((report / unquote(link.partition("#")[0])).is_file() for _, link, *_ in cells)
    assert any("#scenario=" in link for _, link, *_ in cells)


def test_the_summary_has_the_headline_and_the_matrix(report: Path) -> None:
    summary = json.loads((report / "data" / "summary.json").read_text())

    assert summary["headline"]["sentences"][0].startswith("ghx succeeds more often than baseline")
    assert {"text", "tone"} == set(summary["headline"]["chips"][0])
    assert summary["matrix"]["modes"] == ["baseline", "ghx", "mcp"]
    assert [cell["n"] for cells in summary["matrix"]["scenarios"].values() for cell in cells] == [5] * 18


def test_every_link_of_every_page_leads_to_a_file_or_a_heading(report: Path) -> None:
    pages = list(report.rglob("*.html"))
    for path in pages:
        page = Page(path)
        for link in page.links:
            target, _, anchor = link.partition("#")
            assert not anchor or "=" in anchor or anchor in page.ids  # what is shown of a list is no heading
            assert not target or (path.parent / unquote(target)).is_file(), link
    assert len(pages) > 10


def test_every_picture_and_link_of_the_markdown_leads_to_a_file(report: Path) -> None:
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", (report / "report.md").read_text())

    assert [link for link in links if not (report / unquote(link)).is_file()] == []
    assert sum(link.endswith(".svg") for link in links) >= 6


def test_no_page_fetches_anything(report: Path) -> None:
    for path in report.rglob("*.html"):
        page = Page(path)
        assert set(page.sources) <= {"data:,"}
        assert "default-src 'none'" in path.read_text()
        assert not {"iframe", "img", "object", "embed"} & set(page.tags)


def test_tables_have_captions_and_headers_and_charts_have_descriptions(report: Path) -> None:
    text = (report / "index.html").read_text().split("<script type=")[0]

    assert text.count("<table") == text.count("<caption>") == text.count("<thead>")
    assert text.count('data-chart="') + text.count('class="line"') == text.count('role="img" aria-label="')
    assert text.count('data-chart="') > 5
    assert '<html lang="en">' in text


def test_the_summary_keeps_its_schema(report: Path) -> None:
    summary = json.loads((report / "data" / "summary.json").read_text())

    Draft202012Validator(SUMMARY_SCHEMA).validate(summary)
    assert summary["modes"]["ghx"]["metrics"]["tokens_active"]["n"] == 30
    assert summary["modes"]["baseline"]["metrics"]["tokens_active"]["leftOut"] > 0
    assert len(summary["comparisons"]) > 12


def test_csv_and_json_have_one_line_for_each_row_and_agree(report: Path) -> None:
    lines = list(csv.DictReader((report / "data" / "results.csv").read_text().splitlines()))
    rows = json.loads((report / "data" / "results.json").read_text())["rows"]

    assert len(lines) == len(rows) == 90
    assert [line["tokens_active"] for line in lines] == [str(row["tokens_active"] or "") for row in rows]
    assert {row["success"] for row in rows} == {True, False, None}
    assert {row["cause"] for row in rows} == {None, "agent_timeout", "model_provider"}


def test_the_same_rows_make_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate_report([run], generated_at=NOW, output_dir=tmp_path / name)

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_every_chart_keeps_the_schema_of_vega_lite_and_the_limit_of_marks(run: Path) -> None:
    charts = charts_of(run)

    assert len(charts) >= 7
    for chart in charts:
        altair.Chart.from_dict(chart.spec).to_dict(validate=True)
        values = [len(layer.get("data", {}).get("values", ())) for layer in chart.spec.get("layer", [])]
        assert sum(values) + len(chart.spec.get("data", {}).get("values", ())) * max(1, len(values)) <= 5_000


@pytest.mark.nightly
def test_many_modes_and_scenarios_do_not_make_more_marks_than_allowed(tmp_path: Path) -> None:
    modes = [f"mode-{number}" for number in range(6)]
    plan = AnalysisPlan(resamples=999)  # the number of marks does not depend on it, and the default takes 10 s
    run = write_run(tmp_path / "run", made_up_rows(modes=modes, scenarios=160, repetitions=1), plan=plan)

    for chart in charts_of(run):
        values = chart.spec.get("data", {}).get("values", ())
        assert len(values) * max(1, len(chart.spec.get("layer", ()))) <= 5_000, chart.name


def test_unknown_numbers_are_shown_as_unknown_and_counted(tmp_path: Path) -> None:
    rows = [a_row(mode, f"s-{s}", i, cost={}) for mode in ("baseline", "ghx") for s in range(3) for i in range(3)]
    made = generate_report([write_run(tmp_path / "run", rows)], generated_at=NOW)

    text = (made.directory / "index.html").read_text()
    assert "unknown (n 0)" in text
    assert "Cost is unknown in every row; active tokens stand in for it." in text
    assert "Nothing can be concluded about cost between" in text


@pytest.mark.parametrize(
    ("rows", "expected"),
    mostly_nightly(
        [
            ([], "there are no rows"),
            (list(made_up_rows(modes=["ghx"])), "ghx solves 20 of 20 sessions (100 %)"),
            (list(made_up_rows(scenarios=1)), "Nothing can be concluded on tasks like these"),
            (
                [a_row(m, f"s-{s}", i, success=False) for m in ("a", "b") for s in range(2) for i in range(2)],
                "wrong answer",
            ),
            ([a_row(m, f"s-{s}", 0) for m in ("a", "b") for s in range(2)], "not estimable"),
            ([a_row("ghx")], "There is one mode, ghx"),
        ],
        keep=2,
    ),
    ids=["no rows", "one mode", "one scenario", "all failed", "zero variance", "one row"],
)
def test_a_report_is_made_of_whatever_there_is(rows: list[Any], expected: str, tmp_path: Path) -> None:
    made = generate_report([write_run(tmp_path / "run", rows)], generated_at=NOW)

    assert expected in (made.directory / "index.html").read_text()
    Draft202012Validator(SUMMARY_SCHEMA).validate(json.loads((made.directory / "data" / "summary.json").read_text()))
    assert "NaN" not in (made.directory / "data" / "summary.json").read_text()
    assert not re.search(r"\bnan\b|\bNone\b", (made.directory / "report.md").read_text())


@pytest.mark.parametrize("success", [True, False])
def test_one_row_is_told_in_words_and_starts_no_engine_for_charts(
    success: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("vl_convert", "altair"):  # either takes longer to load than the rest of such a report
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    folder = generate_report([write_run(tmp_path, [a_row(success=success)])], generated_at=NOW).directory

    figures = (folder / "report.md").read_text("utf-8")
    assert "Mean " in figures
    assert "There are no repetitions" in figures
    assert "](charts/" not in figures
    assert "vegaEmbed" not in (folder / "index.html").read_text("utf-8")


@pytest.mark.parametrize("provider", ["reference", "nop", "replay"])
def test_a_control_run_carries_its_banner_and_compares_nothing(provider: str, tmp_path: Path) -> None:
    rows = [row.model_copy(update={"provider": provider}) for row in made_up_rows()]
    made = generate_report([write_run(tmp_path / "run", rows, provider=provider)], generated_at=NOW)

    for name in ("index.html", "report.md", "analysis.md"):
        text = (made.directory / name).read_text().split("<script>")[0]
        assert "nothing about agents" in text
        assert not re.search(r"\b(better|worse)\b", text), name
    assert made.summary["control"] is True
    assert made.summary["comparisons"] == []


def test_all_sessions_or_none_get_pages_when_asked(run: Path, tmp_path: Path) -> None:
    every = generate_report([run], generated_at=NOW, output_dir=tmp_path / "all", sessions="all")
    none = generate_report([run], generated_at=NOW, output_dir=tmp_path / "none", sessions="none")

    assert "writes all" not in (tmp_path / "all/sessions/index.html").read_text().partition("<main>")[0]
    assert every.pages == len(list((tmp_path / "all" / "sessions").rglob("*/*.html"))) == 90
    assert none.pages == 0
    assert not (tmp_path / "none" / "sessions").exists()


def test_by_default_failures_and_one_success_of_each_mode_and_scenario_get_a_page(report: Path) -> None:
    pages = len(list((report / "sessions").rglob("*/*.html")))
    text = (report / "sessions" / "index.html").read_text()

    assert text.index('bad">wrong answer<') < text.index('good">success<')
    assert 18 < pages < 90
    choice = "pages were written for failures and one success of each; --sessions all writes all"
    assert f"<p>{pages} of 90 sessions have a page: {choice}</p>" in text
    assert set(re.findall(r'data-sessions="(\d+)"', text)) == {"5"}
    assert "not met: replied" in text
    assert "wrong answer, not met: replied" in (report / "report.md").read_text()


def test_only_the_formats_that_were_asked_for_are_written(run: Path, tmp_path: Path) -> None:
    generate_report([run], generated_at=NOW, output_dir=tmp_path / "out", formats=["data"])

    assert set(files_of(tmp_path / "out")) == {
        *("data/results.csv", "data/results.json", "data/summary.json", "files.txt")
    }


def test_two_runs_with_common_modes_are_compared_from_run_to_run(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", made_up_rows(scenarios=3), run_id="before")
    after_rows = made_up_rows(scenarios=2, run_id="after", seed=9)
    after = write_run(tmp_path / "after", after_rows, run_id="after", versions={"ghxBench": "0.2.0"})
    made = generate_report([before, after], generated_at=NOW, output_dir=tmp_path / "out")

    comparisons = made.summary["comparisons"]
    assert isinstance(comparisons, list)
    pairs = {(each["a"], each["b"]) for each in comparisons}  # type: ignore[index,call-overload]
    assert pairs == {(f"{mode} @ after", f"{mode} @ before") for mode in ("baseline", "ghx", "mcp")}
    text = (made.directory / "report.md").read_text()
    assert "ghx-bench (before: 0.1.0; after: 0.2.0)" in text.replace("\\", "")
    assert "after lacks 15 rows that other runs have" in text
    assert "baseline / scenario-002 \\(0 of 5\\)" in text


def test_two_files_with_modes_of_their_own_are_one_comparison(tmp_path: Path) -> None:
    for mode in ("baseline", "ghx"):
        content = b"".join(row.to_bytes() + b"\n" for row in made_up_rows(modes=[mode]))
        (tmp_path / f"{mode}.jsonl").write_bytes(content)
    files = [tmp_path / "baseline.jsonl", tmp_path / "ghx.jsonl"]
    made = generate_report(results=files, generated_at=NOW, output_dir=tmp_path / "out")

    modes = made.summary["modes"]
    assert isinstance(modes, dict)
    assert list(modes) == ["baseline", "ghx"]


def test_the_plan_of_the_run_is_the_one_that_is_used(tmp_path: Path) -> None:
    plan = AnalysisPlan(primary=("tool_calls_total",), margin_pct=25)
    made = generate_report([write_run(tmp_path / "run", made_up_rows(), plan=plan)], generated_at=NOW)

    heading = (made.directory / "index.html").read_text().partition("<header")[2].partition("</header>")[0]
    assert "tool calls" in heading
    assert "tokens" not in heading
    assert made.summary["plan"]["marginPct"] == 25  # type: ignore[index,call-overload]
    assert made.summary["planRecorded"] is True


def test_a_report_is_not_written_into_a_run_or_over_a_file(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (run, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ReportDirectoryError):
            generate_report([run], generated_at=NOW, output_dir=place)

    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_to_report_is_said(tmp_path: Path) -> None:
    for arguments in ({"runs": []}, {"results": [tmp_path / "none.jsonl"]}, {"results": [tmp_path]}):
        with pytest.raises(NothingToReportError):
            generate_report(**arguments, generated_at=NOW, output_dir=tmp_path / "out")


def test_the_published_medians_come_out_exactly(older_tools: Path, tmp_path: Path) -> None:
    made = generate_report(results=[older_tools / "rows.jsonl"], generated_at=NOW, output_dir=tmp_path / "out")

    summary: Any = json.loads((made.directory / "data" / "summary.json").read_text())
    found = {
        mode: (
            [mode_summary["metrics"][name]["p50"] for name in MEDIAN_METRICS],
            mode_summary["success"]["k"],
            mode_summary["success"]["n"],
        )
        for mode, mode_summary in summary["modes"].items()
    }
    assert found == {mode: (medians, 5, 5) for mode, medians in MEDIANS[older_tools].items()}


def test_without_pyarrow_a_frame_is_missed_only_where_it_was_asked_for_and_with_it_has_every_row(
    run: Path, tmp_path: Path
) -> None:
    made = generate_report([run], generated_at=NOW, output_dir=tmp_path / "data-alone", formats=["data"])

    assert made.notes == ()
    if find_spec("pyarrow") is None:
        with pytest.raises(MissingExtraError, match="frames"):
            generate_report([run], generated_at=NOW, output_dir=tmp_path / "frame", formats=["html", "parquet"])
        assert not (tmp_path / "data-alone" / "data" / "rows.parquet").exists()
        assert not (tmp_path / "frame").exists()
        return
    generate_report([run], generated_at=NOW, output_dir=tmp_path / "frame", formats=["parquet"])
    parquet = import_module("pyarrow.parquet")
    for folder in ("data-alone", "frame"):
        assert parquet.read_table(tmp_path / folder / "data" / "rows.parquet").num_rows == 90


def test_a_report_is_made_now_unless_it_is_told_when(run: Path, tmp_path: Path) -> None:
    before = timestamp(SystemClock().now())
    made = generate_report([run], output_dir=tmp_path / "out", formats=["data"])

    assert before <= made.summary["generatedAt"] <= timestamp(SystemClock().now())


def test_costs_of_0_in_the_recorded_rows_are_unknown_and_counted(older_tools: Path, tmp_path: Path) -> None:
    made = generate_report(results=[older_tools / "rows.jsonl"], generated_at=NOW, output_dir=tmp_path / "out")

    summary: Any = made.summary
    assert [figures["costPerSuccess"]["estimate"] for figures in summary["modes"].values()] == [None] * 3
    assert {each for told in summary["modes"].values() for each in told["metrics"]} & {"cost_total_usd"} == set()
    cost = [each for each in summary["comparisons"] if each["metric"] == "cost_total_usd"]
    assert {each["verdict"] for each in cost} == {"not estimable"}
    assert {(out["cause"], out["rows"]) for each in cost for out in each["perProtocol"]["leftOut"]} == {
        ("not recorded", 5)
    }


def test_rows_of_several_runs_in_one_file_keep_a_page_each(tmp_path: Path) -> None:
    rows = [a_row(runId=f"run_{number}") for number in range(3)]
    (tmp_path / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    generate_report(results=[tmp_path / "rows.jsonl"], generated_at=NOW, output_dir=tmp_path / "out", sessions="all")

    pages = sorted((tmp_path / "out" / "sessions").rglob("*/*.html"))
    assert [page.name for page in pages] == ["0-2.html", "0-3.html", "0.html"]
    assert ["run_1" in page.read_text() for page in pages] == [True, False, False]


def test_runs_are_told_apart_whatever_they_are_called(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, made_up_rows(scenarios=1), run_id=name) for name in ("a @ b", "a@b", "c")]
    made = generate_report(runs, generated_at=NOW, output_dir=tmp_path / "out", formats=["data"])

    modes = made.summary["modes"]
    assert isinstance(modes, dict)
    assert list(modes)[:3] == ["baseline @ a@b #1", "baseline @ a@b #2", "baseline @ c"]
