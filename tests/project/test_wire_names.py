"""What files, streams and commands spell out stays as it is when code is renamed.

A name that changes on purpose changes in `tests/data/wire-names.txt` too, and in the changelog.
"""

import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_the_names_on_the_wire_are_those_of_the_committed_list() -> None:
    stored = (TESTS / "data" / "wire-names.txt").read_text()
    current = subprocess.run(
        [sys.executable, TESTS / "support" / "wire_names.py"], capture_output=True, text=True, check=True
    ).stdout

    assert list(unified_diff(stored.splitlines(), current.splitlines(), "stored", "current", n=0, lineterm="")) == []
