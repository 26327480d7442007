"""The report in a real browser: charts are drawn, nothing is fetched, nothing an agent wrote is run."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, made_up_rows, write_run

from ghx_bench.profiler.reports import generate_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")]

EVIL = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"


@dataclass
class Watched:
    """A page and everything it complained about or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        row.model_copy(update={"scenario_id": EVIL}) if row.scenario_id == "scenario-000" else row
        for row in made_up_rows(scenarios=3)
    ]
    run = write_run(tmp_path_factory.mktemp("browser") / "run", made_up_rows(scenarios=3), says=EVIL)
    (run / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    return generate_report([run], generated_at="2026-04-01T12:00:00.000Z").directory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def watched(browser: Any, request: pytest.FixtureRequest) -> Iterator[Watched]:
    page = browser.new_page(color_scheme=request.param, viewport={"width": 390, "height": 844})
    watched = Watched(page)
    page.on("console", lambda message: watched.complaints.append(message.text))
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("request", lambda asked: watched.requests.append(asked.url))
    yield watched
    page.close()


def test_the_page_is_drawn_fits_a_phone_and_fetches_nothing(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html")
    page.wait_for_selector("html[data-drawn=yes]")

    places = page.locator("[data-chart]")
    assert places.count() >= 6
    assert page.locator("[data-chart] svg").count() == places.count()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith(("data:", (report / "index.html").as_uri()))] == []


def test_what_an_agent_wrote_is_shown_and_not_run(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html")
    page.wait_for_selector("html[data-drawn=yes]")

    assert page.title() == "Report on run_1"
    assert EVIL in page.inner_text("#sessions")
    assert page.locator("main img").count() == 0


def test_a_session_opens_from_the_report(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html")
    page.locator("#sessions tr", has_text="success").locator("a", has_text="scenario-001").first.click()
    page.wait_for_selector("h2:has-text('Turn 1')", timeout=10_000)

    assert EVIL in page.inner_text("main")
    assert page.title().startswith("scenario-001 / ")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watched.complaints == []


def test_ink_and_paper_differ_in_either_scheme(report: Path, watched: Watched) -> None:
    page = watched.open(report / "index.html")

    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    shades = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ink, paper)]
    assert abs(shades[0] - shades[1]) > 400


def test_charts_without_any_interval_are_drawn_without_complaint(tmp_path: Path, watched: Watched) -> None:
    """One row a mode has estimates and no interval; neither has pass^k of one repetition of every scenario."""
    rows = [a_row("baseline"), a_row("ghx", tokens={"active": 7_000}, timing={"wallMs": 9}, success=False)]
    directory = generate_report([write_run(tmp_path / "run", rows)], generated_at="2026-04-01T12:00:00.000Z").directory

    page = watched.open(directory / "index.html")
    page.wait_for_selector("html[data-drawn=yes]")

    assert page.locator("[data-chart=forest-amounts] svg").count() == 1
    assert page.locator("[data-chart=pass-k] svg").count() == 1
    assert watched.complaints == []


def test_a_difference_beyond_the_chart_is_drawn_without_complaint(tmp_path: Path, watched: Watched) -> None:
    rows = [
        a_row(mode, f"s{number}", each, tokens={"active": 9 * (1 + each) * 10 ** (6 * (mode == "ghx"))})
        for mode in ("baseline", "ghx")
        for number in range(3)
        for each in range(3)
    ]
    directory = generate_report([write_run(tmp_path / "run", rows)], generated_at="2026-04-01T12:00:00.000Z").directory

    page = watched.open(directory / "index.html")
    page.wait_for_selector("html[data-drawn=yes]")

    assert "Arrows: reaches beyond the chart." in page.inner_text("#differences")
    assert watched.complaints == []
