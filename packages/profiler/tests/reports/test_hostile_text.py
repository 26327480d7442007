"""What agents write is hostile: it is shown as text, wherever it comes from and wherever it goes."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row, write_run

from ghx_base.files.atomic_files import write_file
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.render.escaping import (
    csv_text,
    html_text,
    markdown_paragraph,
    markdown_text,
    script_json,
    visible,
)
from ghx_profiler.store.directory import RunDirectory

pytestmark = pytest.mark.slow

EVIL = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>|a\n# b `c` \x1b[31m\u202e=1+1 javascript:alert(3)"
)
NOW = "2026-04-01T12:00:00.000Z"


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report in which every text that a row, a trace or a finding can carry is hostile."""
    checkpoint = {
        "id": EVIL,
        "description": EVIL,
        "passed": False,
        "actual": {EVIL: EVIL},
        "expected": EVIL,
        "error": EVIL,
    }
    rows = [
        a_row(
            mode,
            scenario,
            iteration,
            model=EVIL,
            runId=EVIL,
            provider=EVIL,
            success=iteration == 0,
            error=None if iteration == 0 else EVIL,
            errorCode=EVIL,
            cause=None if iteration == 0 else "agent_crash",
            checkpointDetails=[checkpoint],
            metrics={EVIL: 3.5 + iteration},
            startedAt=EVIL,
            attempts=[{"number": n, "startedAt": EVIL, "error": EVIL} for n in (1, 2)],
            problems=[{"where": EVIL, "code": EVIL, "message": EVIL}],
            extensions={EVIL: EVIL, "mode": {"tools": [{"name": EVIL, "version": EVIL}], EVIL: EVIL, "other": [EVIL]}},
        )
        for mode in (EVIL, "=cmd()")
        for scenario in ("../../../escape", EVIL, "plain")
        for iteration in range(2)
    ]
    bound = {"stage": {"bindings": {"x": EVIL}}, "mode": {"mcp_servers": {EVIL: {"name": EVIL, "version": [EVIL]}}}}
    plain = [a_row("plain", "plain", 0, sessionId=EVIL, extensions=bound)]
    folder = tmp_path_factory.mktemp("hostile")
    told = {
        "versions": {EVIL: EVIL},
        "host": {EVIL: EVIL},
        "scenarios": ({"id": "plain", "name": "n", "description": "d", "prompt": EVIL + "{{x}}", "timeoutMs": 1},),
        "mode_details": {"plain": {"instructions": EVIL}, EVIL: {"instructions": 9 * EVIL, "facts": {EVIL: EVIL}}},
    }
    run = write_run(folder / "run", plain, says=EVIL, run_id=EVIL, **told)
    (run / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in [*rows, *plain]))
    request = {"at": NOW, "surface": EVIL, "method": EVIL, "path": EVIL, "operation": EVIL, "userAgent": EVIL}
    numbers = {"status": 200, "failed": True, "changed": True, "durationMs": 1, "requestBytes": 1, "responseBytes": 1}
    changes = [
        {"change": "changed", "what": EVIL, "name": EVIL, "before": EVIL, "after": [EVIL]},
        {"change": "created", "what": EVIL, "name": EVIL, "after": {EVIL: EVIL}},
    ]
    activity = SessionActivity.model_validate(
        {
            "sessionId": EVIL,
            "changes": changes,
            "requests": [request | numbers, request | numbers | {"surface": "graphql"}],
        }
    )
    write_file(RunDirectory(run).activity(plain[0].cell), activity.to_bytes())
    return generate_report([run], generated_at=NOW, sessions="all").directory


def test_no_page_has_an_element_or_attribute_that_an_agent_wrote(report: Path) -> None:
    pages = list(report.rglob("*.html"))

    assert len(pages) == 18
    for path in pages:
        text = path.read_text()
        elements = Elements(text).found
        scripts = [attributes for tag, attributes in elements if tag == "script"]
        of_page = {report / "index.html": 4, report / "sessions" / "index.html": 1}
        assert len(scripts) == of_page.get(path, 0)
        assert not [tag for tag, _ in elements if tag in {"img", "iframe", "object", "form"}]
        drawn = [a.get("role") or a.get("aria-hidden") for tag, a in elements if tag == "svg"]
        assert set(drawn) <= ({"img", "true"} if path == report / "index.html" else set())
        assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
        assert not [a for _, a in elements if (a.get("href") or "").lower().startswith("javascript")]
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_what_the_agent_said_is_still_there_to_read(report: Path) -> None:
    said = [path.read_text() for path in report.rglob("*.html")]

    assert sum("&lt;script&gt;alert(1)&lt;/script&gt;" in text for text in said) == len(said)


def test_no_page_lies_outside_of_the_report(report: Path) -> None:
    outside = [path for path in report.parent.parent.rglob("*.html") if not path.is_relative_to(report)]

    assert outside == []
    assert any("escape" in path.as_posix() for path in report.rglob("*.html"))


def test_markdown_has_no_markup_of_an_agent(report: Path) -> None:
    for name in ("report.md", "analysis.md"):
        text = (report / name).read_text()
        assert not re.search(r"(?<!\\)<(script|img)", text)
        assert "\x1b" not in text
        assert not re.search(r"^# b", text, re.MULTILINE)
        tables = [line for line in text.splitlines() if line.startswith("|")]
        assert tables
        assert all(line.endswith("|") for line in tables)


def test_pictures_have_no_element_of_an_agent(report: Path) -> None:
    for path in report.rglob("*.svg"):
        tags = {tag for tag, _ in Elements(path.read_text()).found}
        assert not tags & {"script", "img", "foreignobject", "a"}


def test_data_files_are_whole_and_no_cell_is_a_formula(report: Path) -> None:
    lines = list(csv.reader((report / "data" / "results.csv").read_text().split("\n")))[:-1]

    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(lines) == 14
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "@"))]
    rows = json.loads((report / "data" / "results.json").read_text())["rows"]
    # Its agent and its model, which are not those of every row, and its mode.
    assert rows[0]["mode"] == f"{EVIL} / {EVIL} / {EVIL}"


@given(st.text())
def test_text_in_html_is_never_markup(text: str) -> None:
    assert Elements(f'<p title="{html_text(text)}">{html_text(text, lines=True)}</p>').found[0][0] == "p"
    assert len(Elements(f"<p>{html_text(text)}</p>").found) == 1


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_json_in_a_script_is_the_same_json_and_ends_no_script(value: object) -> None:
    text = script_json(value)

    assert json.loads(text) == value
    assert "<" not in text
    assert "\n" not in text


@given(st.text(alphabet=st.characters() | st.sampled_from("|`*[]<>\\\n\r\x1b#-1.")))
def test_a_markdown_cell_is_one_line_whose_bars_are_escaped(text: str) -> None:
    cell = markdown_text(text)

    assert len(cell.splitlines()) <= 1
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", cell)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Say `a --b_c *d*` *now*.", r"Say `a --b_c *d*` \*now\*."),
        ("`a` and `b", r"`a` and \`b"),
        ("``a` *b*", r"\`\`a\` \*b\*"),
        ("\ue000 `a`", "\ufffd\\(U\\+E000\\) `a`"),
    ],
)
def test_in_a_paragraph_what_stands_in_backticks_is_code_and_all_else_is_text(text: str, written: str) -> None:
    assert markdown_paragraph(text) == written


@given(st.text(alphabet=st.sampled_from("`*<a \\_")))
def test_outside_the_code_of_a_paragraph_nothing_is_markup(text: str) -> None:
    # From left to right, as Markdown is read: a backslash has no meaning inside code.
    outside = re.sub(r"\\.|`[^`]+`", "", markdown_paragraph(text))

    assert not set(outside) & set("`*<_")


@given(st.text(alphabet=st.characters() | st.sampled_from("\x00\x1b\x07\x9b\u202e\u200b\ud800")))
def test_nothing_a_terminal_obeys_is_left(text: str) -> None:
    assert visible(text) == "" or visible(text).isprintable() or not set(visible(text)) & set("\x00\x1b\x07\x9b\u202e")
    assert not csv_text(text).startswith(("=", "+", "-", "@"))
    visible(text).encode()
