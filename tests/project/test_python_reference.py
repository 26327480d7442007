"""The Python reference is up to date: every export has a text and an example, and the pages are those of the code."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_export_is_on_its_page_with_a_text_and_an_example() -> None:
    script = ROOT / "scripts" / "python_docs.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
