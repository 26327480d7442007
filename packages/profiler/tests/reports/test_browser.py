"""The report in a real browser: it fits every screen, fetches nothing, runs nothing an agent wrote, and can be used."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from node_packages import NotObtainableError, node_modules
from report_runs import a_row, made_up_rows, write_run

from ghx_base.clock import SystemClock
from ghx_base.files.atomic_files import write_file
from ghx_profiler.interchange.axi import read_axi
from ghx_profiler.interchange.import_run import import_run
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.reports import generate_report
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.directory import RunDirectory

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")]

NOW = "2026-04-01T12:00:00.000Z"
AXE = "axe-core@4.14.0"
EVIL = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LONG = "a-mode-with-quite-a-long-name"
OVERFLOWING = """() => Array.from(document.querySelectorAll("header *, main *")).filter((each) => {
  if (each.closest(".scroll, svg, details:not([open])") || !each.offsetParent) return false;
  const box = each.getBoundingClientRect();
  return box.right > innerWidth + 1 || (each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1);
}).map((each) => each.outerHTML.slice(0, 120))"""
"""The elements outside of tables, which scroll by themselves, that are wider than the page or than their place."""
CUT_LABELS = """() => Array.from(document.querySelectorAll(".intervals text")).filter((each) => {
  const box = each.getBoundingClientRect();
  return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
}).map((each) => each.textContent)"""

FAULTS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter((each) => each.impact === "serious" || each.impact === "critical")
  .map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 160)}`)"""


@dataclass
class Watched:
    """A page and everything it complained about or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def open(self, path: Path, anchor: str = "") -> Any:
        self.page.goto(f"{path.as_uri()}{anchor}")
        return self.page

    def unfold(self) -> None:
        """Open every section, and wait until their charts are drawn."""
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        self.page.wait_for_function(
            "Array.from(document.querySelectorAll('[data-chart]')).every((each) => each.querySelector('svg'))"
        )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        row.model_copy(update={"scenario_id": EVIL}) if row.scenario_id == "scenario-000" else row
        for row in made_up_rows(scenarios=3)
    ]
    run = write_run(tmp_path_factory.mktemp("browser") / "run", made_up_rows(scenarios=3), says=EVIL)
    (run / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    return generate_report([run], generated_at=NOW).directory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield browser
        browser.close()


def watch(browser: Any, viewport: dict[str, int], scheme: str) -> Watched:
    page = browser.new_page(color_scheme=scheme, viewport=viewport)
    watched = Watched(page)
    page.on("console", lambda message: watched.complaints.append(message.text))
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("request", lambda asked: watched.requests.append(asked.url))
    return watched


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    watched = watch(browser, NARROW, "light")
    yield watched
    watched.page.close()


@pytest.fixture(scope="module")
def axe() -> str:
    try:
        return (node_modules(AXE) / "axe-core" / "axe.min.js").read_text()
    except NotObtainableError as error:
        pytest.skip(str(error))


def shapes_of_reports(folder: Path) -> dict[str, Path]:
    """Write a report of every shape: three modes, eight modes and 300 tasks, two runs, a control, imported rows."""
    quick = AnalysisPlan(resamples=999)
    lost = {("gh", 1), ("gh", 2), ("ghx", 3)}
    halves = [
        [
            a_row(mode, f"task-{n}", i, runId=run, success=run == "before" or (mode, n) not in lost)
            for mode in ("gh", "ghx")
            for n in range(5)
            for i in range(2)
        ]
        for run in ("before", "after")
    ]
    # Without sessions and with few metrics: 2,400 of them are made for the size of the page alone.
    plain = {
        "session_id": "",
        "tool_calls": a_row().tool_calls.model_copy(update={"by_category": {}}),
        "cost": a_row().cost,
    }
    many = [
        row.model_copy(update=plain)
        for row in made_up_rows(modes=[LONG, *(f"mode-{n}" for n in range(7))], scenarios=300, repetitions=1)
    ]
    control = [row.model_copy(update={"provider": "reference", "success": True}) for row in made_up_rows(scenarios=2)]
    runs = {
        "three": [write_run(folder / "three", made_up_rows(scenarios=6))],
        "eight": [write_run(folder / "eight", many, plan=quick)],
        "two runs": [write_run(folder / f"run-{n}", rows, run_id=f"run-{n}") for n, rows in enumerate(halves)],
        "control": [write_run(folder / "control", control, provider="reference")],
    }
    return {
        name: generate_report(
            of, generated_at=NOW, output_dir=folder / name / "report", formats=["html"], sessions="none"
        ).directory
        for name, of in runs.items()
    }


def faults_of(browser: Any, axe: str, name: str, folder: Path) -> Iterator[str]:
    """Yield what is wrong with the first screen of a report, at two widths and in both schemes."""
    for viewport, scheme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
        watched = watch(browser, viewport, scheme)
        watched.page.add_init_script(axe)  # the policy of a page does not bind what is there before it
        page = watched.open(folder / "index.html")
        where = f"{name}, {viewport['width']} px, {scheme}"
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            yield f"{where}: the page scrolls sideways"
        yield from (f"{where}: overflows: {each}" for each in page.evaluate(OVERFLOWING))
        yield from (f"{where}: cut: {each}" for each in page.evaluate(CUT_LABELS))
        if viewport is WIDE and page.locator(".matrix").first.bounding_box()["y"] > viewport["height"]:
            yield f"{where}: the matrix begins below the first screen"
        if (viewport is WIDE) == (scheme == "light"):  # faults are those of a width or of a scheme, not of both
            yield from (f"{where}: {each}" for each in page.evaluate(FAULTS))
        yield from (f"{where}: {each}" for each in watched.complaints)
        page.close()


@pytest.mark.nightly
def test_every_shape_of_report_fits_every_screen_and_axe_finds_no_serious_fault(
    browser: Any, axe: str, tmp_path: Path
) -> None:
    shapes = shapes_of_reports(tmp_path)

    assert [fault for name, folder in shapes.items() for fault in faults_of(browser, axe, name, folder)] == []


@pytest.mark.nightly
def test_imported_rows_fit_every_screen_and_name_winner_metric_and_size(
    browser: Any, axe: str, shared: Path, tmp_path: Path
) -> None:
    rows = shared / "compat" / "axi" / "results.jsonl"
    run = import_run(rows, "axi", read_axi, results=tmp_path, agent=None, now=SystemClock().now()).directory
    made = generate_report([run], generated_at=NOW, formats=["html"], sessions="none")

    headline: Any = made.summary["headline"]
    assert headline["sentences"][0] == "axi succeeds more often than cli: 100 % instead of 86 %."
    assert headline["scope"][0].startswith("On these 17 tasks. For tasks like these success is open")
    assert list(faults_of(browser, axe, "imported", made.directory)) == []


def test_the_details_fit_a_wide_screen_and_charts_are_drawn_once_they_are_opened(
    report: Path, browser: Any, watched: Watched
) -> None:
    wide = watch(browser, WIDE, "dark")
    for each in (wide, watched):
        page = each.open(report / "index.html")
        assert page.locator("[data-chart] svg").count() == 0
        each.unfold()
        assert page.locator("[data-chart]").count() >= 6
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert each.complaints == []
        own = ("data:", (report / "index.html").as_uri())
        assert [url for url in each.requests if not url.startswith(own)] == []
    tables = (
        "Array.from(document.querySelectorAll('.scroll')).filter((each) => each.scrollWidth > each.clientWidth + 1)"
    )
    assert wide.page.evaluate(f"{tables}.map((each) => each.ariaLabel)") == []
    wide.page.close()


def test_lists_sort_and_filter_and_a_cell_of_the_matrix_shows_its_sessions(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html")
    first = page.locator(".matrix").first
    head = first.locator("thead th", has_text="mcp").locator("button")
    head.click()
    ascending = first.locator("tbody td:nth-child(4)").all_inner_texts()
    head.click()
    assert first.locator("tbody td:nth-child(4)").all_inner_texts() == sorted(ascending, reverse=True)

    link = page.locator(".matrix a").first
    cell = link.get_attribute("href")
    link.click()
    page.wait_for_selector(".filters:not([hidden])")
    every = page.locator("tbody tr")
    shown = page.locator("tbody tr:visible").count()
    assert 0 < shown < every.count(), cell
    sessions = int(page.locator("tbody tr:visible").first.get_attribute("data-sessions"))
    assert shown < sessions
    assert f", of {sessions} sessions: pages were written for failures" in page.locator("#count").inner_text()
    page.get_by_role("button", name="Show all").click()
    assert page.locator("tbody tr:visible").count() == every.count()
    assert watched.complaints == []


def test_the_list_of_sessions_sorts_filters_and_keeps_what_it_shows_in_its_address(report: Path, browser: Any) -> None:
    watched = watch(browser, WIDE, "light")
    page = watched.open(report / "sessions" / "index.html")
    every = page.locator("table.sessions tbody tr").count()
    shown = page.locator("table.sessions tbody tr:visible")
    page.locator("select[name=outcome]").select_option("wrong answer")
    wrong = shown.count()
    assert 0 < wrong < every
    page.locator("select[name=arm]").select_option("baseline")
    assert 0 < shown.count() < wrong
    assert page.url.endswith("#outcome=wrong+answer&arm=baseline")
    assert page.locator("#count").inner_text() == f"{shown.count()} of {every} shown"

    page.goto(page.url.replace("baseline", "mcp"))
    page.reload()
    assert set(shown.locator("td:nth-child(2)").all_inner_texts()) == {"mcp"}

    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="wall time").click()
    times = shown.locator("td:nth-child(6)").evaluate_all("each => each.map((cell) => cell.dataset.value)")
    known = [int(time) for time in times if time]
    assert known == sorted(known)
    assert set(times[len(known) :]) <= {""}
    page.get_by_role("button", name="wall time").click()
    assert page.locator("th[aria-sort=descending]").count() == 1
    assert int(shown.locator("td:nth-child(6)").first.get_attribute("data-value")) == known[-1]
    assert watched.complaints == []
    page.close()


@pytest.mark.nightly
def test_pages_of_sessions_fit_every_screen_and_axe_finds_no_serious_fault(
    browser: Any, axe: str, tmp_path: Path
) -> None:
    wrong = {"id": "replied", "description": "d" * 90, "passed": False, "expected": "x" * 300, "actual": ["y" * 300]}
    rows = [a_row(LONG, "s" * 90), a_row("ghx", "s" * 90, success=False, checkpointDetails=[wrong])]
    run = write_run(tmp_path / "run", rows, says="z" * 400)
    change = {"change": "changed", "what": "issues.title", "name": "o/r#7", "before": "b" * 300, "after": "a" * 300}
    request = {"at": NOW, "surface": "rest", "method": "GET", "path": "/" + "p" * 300, "operation": "o", "status": 404}
    numbers = {"failed": True, "changed": True, "durationMs": 1, "requestBytes": 1, "responseBytes": 1}
    activity = SessionActivity.model_validate({"changes": [change], "requests": [request | numbers]})
    write_file(RunDirectory(run).activity(rows[1].cell), activity.to_bytes())
    folder = generate_report([run], generated_at=NOW, formats=["html"]).directory
    pages = [path for path in folder.rglob("*.html") if path != folder / "index.html" and LONG not in path.parts]
    assert len(pages) == 3
    faults: list[str] = []
    for path in pages:
        for viewport, scheme in ((WIDE, "light"), (NARROW, "dark")):
            watched = watch(browser, viewport, scheme)
            watched.page.add_init_script(axe)
            page = watched.open(path)
            where = f"{path.relative_to(folder).parts[0]}/{path.name}, {viewport['width']} px, {scheme}"
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                faults.append(f"{where}: the page scrolls sideways")
            faults += [f"{where}: overflows: {each}" for each in page.evaluate(OVERFLOWING)]
            faults += [f"{where}: {each}" for each in (*page.evaluate(FAULTS), *watched.complaints)]
            page.close()
    assert faults == []


def test_what_an_agent_wrote_is_shown_and_not_run(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html", "#sessions")

    assert page.title() == "Report on run_1"
    assert EVIL in page.inner_text("#sessions")
    assert page.locator("main img").count() == 0


def test_a_session_opens_from_the_report(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html", "#sessions")
    page.locator("#sessions tr", has_text="success").locator("a", has_text="scenario-001").first.click()
    page.wait_for_selector("h2:has-text('Turn 1')", timeout=10_000)

    assert EVIL in page.inner_text("main")
    assert page.title().startswith("scenario-001 / ")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watched.complaints == []


@pytest.mark.nightly
def test_charts_without_any_interval_are_drawn_without_complaint(tmp_path: Path, watched: Watched) -> None:
    """One row a mode has estimates and no interval; neither has pass^k of one repetition of every scenario."""
    rows = [a_row("baseline"), a_row("ghx", tokens={"active": 7_000}, timing={"wallMs": 9}, success=False)]
    directory = generate_report([write_run(tmp_path / "run", rows)], generated_at=NOW).directory

    page = watched.open(directory / "index.html")
    watched.unfold()

    assert page.locator("[data-chart=forest-amounts] svg").count() == 1
    assert page.locator("[data-chart=pass-k] svg").count() == 1
    assert watched.complaints == []


@pytest.mark.nightly
def test_a_difference_beyond_the_chart_is_drawn_without_complaint(tmp_path: Path, watched: Watched) -> None:
    rows = [
        a_row(mode, f"s{number}", each, tokens={"active": 9 * (1 + each) * 10 ** (6 * (mode == "ghx"))})
        for mode in ("baseline", "ghx")
        for number in range(3)
        for each in range(3)
    ]
    directory = generate_report([write_run(tmp_path / "run", rows)], generated_at=NOW).directory

    page = watched.open(directory / "index.html")
    watched.unfold()

    assert "Arrows: reaches beyond the chart." in page.inner_text("#differences")
    assert watched.complaints == []
