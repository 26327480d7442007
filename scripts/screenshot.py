"""Make the picture in the README: the first screen of a run's report, in a real browser.

    .venv/bin/python scripts/screenshot.py [RUN] [--output docs/images/report.png] [--width 1440] [--scheme dark]

That in the README is of rows of a public benchmark, which `ghx-bench import axi` made a run of: modes differ in it.
Without a run, that of `make demo` is made first, in a temporary folder. Needs playwright (`scripts/setup dev`) and a
chromium.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
MOST_BYTES = 300_000
HEIGHT = 900
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
DEMO = ("--repetitions", "2", "--max-concurrency", "4", "--output-dir", "results")


def main() -> int | str:
    """Make the picture, and say how large it is; a message if it is too large."""
    parser = argparse.ArgumentParser(description="Make the picture in the README.")
    parser.add_argument("run", nargs="?", type=Path, help="the folder of a run with a report")
    parser.add_argument("--output", type=Path, default=PICTURE)
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--scheme", choices=("light", "dark"), default="light")
    given = parser.parse_args()
    with nullcontext(given.run) if given.run is not None else demo_run() as run:
        take(run, given.output, width=given.width, scheme=given.scheme)
    size = given.output.stat().st_size
    print(f"{given.output}: {size:,} bytes")  # noqa: T201 - a command line tool
    return 0 if size < MOST_BYTES else f"this is more than {MOST_BYTES:,} bytes"


@contextmanager
def demo_run() -> Iterator[Path]:
    """Run what `make demo` runs, somewhere else."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([Path(sysconfig.get_path("scripts"), "ghx-bench"), "run", *DEMO], cwd=folder, check=True)
        (record,) = Path(folder, "results").glob("*/run.json")
        yield record.parent


def take(run: Path, output: Path, *, width: int, scheme: Literal["light", "dark"]) -> None:
    """Open the report of a run, and keep what is seen of it at first."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    output.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=QUIET)
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": HEIGHT})
        page.goto((run / "report" / "index.html").resolve().as_uri())
        page.screenshot(path=output)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
