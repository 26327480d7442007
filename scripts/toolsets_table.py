"""Write into docs/toolsets.md what `ghx-bench surface` and `expose` say of the built-in modes that are installed here.

    python scripts/toolsets_table.py [--date 2026-11-18] [--tools FILE ...]

`--date` is what the page says, today unless given; `--tools` adds servers that are measured by their lists of tools.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from ghx_bench.eval.modes.definitions import BUILT_IN

PAGE = Path(__file__).parents[1] / "docs" / "toolsets.md"
SECTION = r"(<!-- generated: {} -->\n).*?(<!-- end -->)"
BENCH = (sys.executable, "-m", "ghx_bench.eval.cli.main")


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--tools", action="append", default=[], type=Path)
    given = parser.parse_args()
    modes, absent = find_installed()
    tools = [word for each in given.tools for word in ("--tools", str(each))]
    lines = [f"Measured on {given.date}.", "", write_table("surface", *modes, *tools)]
    if absent:
        lines += ["", "Not installed where this was measured, and so not measured:", ""]
        lines += [f"- `{name}`: {reason}" for name, reason in absent.items()]
    page = PAGE.read_text(encoding="utf-8")
    for name, text in (("surface", "\n".join(lines)), ("exposure", write_table("expose", *modes))):
        section = re.compile(SECTION.format(name), re.DOTALL)
        page = section.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {', '.join(modes)}; not installed: {', '.join(absent) or 'none'}" + "\n")


def write_table(command: str, *words: str) -> str:
    """Return the Markdown that a command writes."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.md")
        run = [*BENCH, command, *words, "--markdown", str(table)]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        return table.read_text(encoding="utf-8").rstrip()


def find_installed() -> tuple[list[str], dict[str, str]]:
    """Return the built-in modes whose tools start here, and the others with the reason."""
    modes: list[str] = []
    absent: dict[str, str] = {}
    for name in BUILT_IN:
        if name == "mcp":
            continue  # a mode that users describe; as it comes, it is `github-mcp`
        ran = subprocess.run([*BENCH, "surface", name, "--lint", "--json"], capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            modes.append(name)
        else:
            lines = ran.stderr.strip().splitlines()
            absent[name] = lines[-1].removeprefix("error: ") if lines else f"exit code {ran.returncode}"
    return modes, absent


if __name__ == "__main__":
    main()
