"""`docs/methodology.md` names every built-in scenario, with its traps and what notices them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_table_is_about_the_scenarios_there_are() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts" / "discrimination_table.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stderr
