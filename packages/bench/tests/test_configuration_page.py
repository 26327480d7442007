"""The page on the configuration says what the code has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_tables_of_settings_are_up_to_date() -> None:
    script = ROOT / "scripts" / "configuration_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "| `max_concurrency` |" in (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
