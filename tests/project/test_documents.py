"""What README and docs show is true: the Python runs, the commands exist."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from markdown_pages import GENERATED, commands_of, complaint, complaints_about, program_of, run_program_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") if (ROOT / name).exists()]
PAGES = sorted({page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - GENERATED)
DOCUMENTS += sorted(ROOT.glob("packages/*/README.md")) + [ROOT / "docs" / page for page in PAGES]


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


WITH_PYTHON = [document for document in DOCUMENTS if program_of(document.read_text()).strip()]


@pytest.mark.parametrize("document", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_document_runs_from_top_to_bottom(document: Path, tmp_path: Path) -> None:
    result = run_program_of(document, tmp_path)

    assert result.returncode == 0, result.stderr


def test_the_commands_of_the_documents_exist() -> None:
    complaints = {name_of(document): complaints_about(document) for document in DOCUMENTS}

    assert {name: found for name, found in complaints.items() if found} == {}


def test_the_readme_is_short_and_shows_the_two_commands_that_matter() -> None:
    readme = (ROOT / "README.md").read_text()

    assert len(readme.splitlines()) < 150
    assert "make demo" in readme
    assert "make test" in readme


def test_every_page_has_its_place_on_the_documentation_site() -> None:
    docs = ROOT / "docs"
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    groups = [[each] if isinstance(each, str) else [page for pages in each.values() for page in pages] for each in nav]
    listed = [page for pages in groups for page in pages]

    assert sorted(listed) == sorted({*PAGES, *GENERATED})
    pages = re.findall(r"^- \[.*\]\((.*)\)$", (docs / "index.md").read_text(), re.MULTILINE)
    assert pages == [page for page in listed if page != "index.md" and not page.startswith("adr/")]


def fenced(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```", ""])


def test_the_program_of_a_document_keeps_the_lines_of_the_document() -> None:
    text = "# Title\n\n" + fenced("python", "x = 1") + "and then\n" + fenced("python", "x + 1", "x + 2")

    assert program_of(text).splitlines() == ["", "", "", "x = 1", "", "", "", "x + 1", "x + 2"]


def test_a_block_is_left_out_only_with_a_reason() -> None:
    with_reason = "<!-- not run: needs a token -->\n" + fenced("python", "x")
    without = "<!-- not run: -->\n" + fenced("python", "x")

    assert not program_of(with_reason).strip()
    assert program_of(without).strip() == "x"


def test_commands_are_read_from_behind_the_prompt() -> None:
    text = fenced(
        "console", "$ A=1 make demo && cd x  # go", "output", "$ ghx run issue.view --input '{\"a\": 1}' \\", "  | jq"
    )

    assert list(commands_of(text)) == [
        ["make", "demo"],
        ["cd", "x"],
        ["ghx", "run", "issue.view", "--input", '{"a": 1}'],
        ["jq"],
    ]


@pytest.mark.parametrize(
    "command",
    [
        "make no-such-target",
        "no-such-program",
        "python examples/no_such_file.py",
        "scripts/no-such-script",
        "ghx no-such-command",
        "ghx --no-such-flag",
    ],
)
def test_a_command_that_does_not_exist_is_complained_about(command: str) -> None:
    assert complaint(shlex.split(command))


@pytest.mark.parametrize("command", ["make demo", "scripts/setup dev", "uvx ghx-bench", "ghx --version", "git clone"])
def test_a_command_that_exists_is_not(command: str) -> None:
    assert complaint(shlex.split(command)) is None
