"""The page on the twin says what the code has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "twin_support.py"


def test_the_tables_of_what_is_supported_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_every_part_of_the_page_is_there() -> None:
    page = (ROOT / "docs" / "twin.md").read_text(encoding="utf-8")

    assert "| [`PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge`]" in page
    assert "| `PullRequestReviewThread` |" in page
    assert "`addPullRequestReviewThreadReply`" in page
    assert "The twin has no .gitignore and license templates" in page
