"""The pages that `make docs` writes from the code: their Python runs, their commands exist, and they are complete."""

import subprocess
import sys
from pathlib import Path

import pytest
from markdown_pages import ROOT, complaints_about, run_program_of

from ghx_tools.capabilities.index import CAPABILITY_IDS

SCRIPTS = ("capability_docs.py", "code_map.py", "python_docs.py", "twin_support.py")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write all pages into a folder; a public name without a docstring or an example is an error."""
    folder = tmp_path_factory.mktemp("docs")
    for script in SCRIPTS:
        done = subprocess.run(
            [sys.executable, ROOT / "scripts" / script, folder], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", ["agents", "eval", "profiler", "twin"])
def test_the_examples_of_the_python_reference_run(pages: Path, name: str, tmp_path: Path) -> None:
    result = run_program_of(pages / "python" / f"{name}.md", tmp_path)

    assert result.returncode == 0, result.stderr


def test_every_capability_has_a_heading_and_its_commands_exist(pages: Path) -> None:
    page = pages / "capabilities.md"

    assert [each for each in CAPABILITY_IDS if f"### {each}\n" not in page.read_text()] == []
    assert complaints_about(page) == {}


def test_the_page_on_the_emulator_has_every_part(pages: Path) -> None:
    page = (pages / "twin-support.md").read_text()

    assert "| [`PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge`]" in page
    assert "| `PullRequestReviewThread` |" in page
    assert "`addPullRequestReviewThreadReply`" in page
    assert "| `create_pull_request_review` |" in page
    assert "The twin has no .gitignore and license templates" in page


def test_the_code_map_describes_every_module(pages: Path) -> None:
    page = (pages / "code-map.md").read_text()

    assert "| `world` | " in page
    assert "|  |" not in page
