"""Write into docs/toolsets.md what `ghx-bench surface` and `expose` say of the built-in modes that are installed here.

    python scripts/toolsets_table.py [--date 2026-11-18] [--tools NAME=FILE ...] [--axi FILE]

`--date` is what the page says, today unless given; `--tools` adds a server that is measured by its list of tools, under
a name; `--axi` is the `results.jsonl` of the AXI benchmark, whose verdicts are put beside.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ghx_bench.eval.modes.definitions import BUILT_IN

PAGE = Path(__file__).parents[1] / "docs" / "toolsets.md"
SECTION = r"(<!-- generated: {} -->\n).*?(<!-- end -->)"
BENCH = (sys.executable, "-m", "ghx_bench.eval.cli.main")


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--tools", action="append", default=[])
    parser.add_argument("--axi", type=Path)
    given = parser.parse_args()
    modes, absent = find_installed()
    with tempfile.TemporaryDirectory() as folder:
        lists = list(copy_tool_lists(given.tools, Path(folder)))
        surface, surface_tables = measure("surface", *modes, *lists)
        exposure, exposure_tables = measure("expose", *modes)
        texts = {
            "surface": "\n\n".join(
                (f"Measured on {given.date}.", as_list(surface_prose(surface)), surface_tables, as_list(gaps(absent)))
            ),
            "exposure": "\n\n".join((as_list(exposure_prose(exposure)), without_tools(exposure_tables))),
        }
        if given.axi is not None:
            texts["public"] = judge_public_rows(given.axi, Path(folder))
    page = PAGE.read_text(encoding="utf-8")
    for name, text in texts.items():
        section = re.compile(SECTION.format(name), re.DOTALL)
        page = section.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {', '.join(modes)}; not installed: {', '.join(absent) or 'none'}" + "\n")


def copy_tool_lists(named: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield flags for lists of tools, copied so that the table calls them by the names given."""
    for each in named:
        name, _, path = each.partition("=")
        copy = folder / f"{name}.json"
        shutil.copyfile(path, copy)
        yield from ("--tools", str(copy))


def measure(command: str, *words: str) -> tuple[dict[str, Any], str]:
    """Return what a command found, as data and as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.md")
        ran = subprocess.run(
            [*BENCH, command, *words, "--json", "--markdown", str(table)], check=True, stdout=subprocess.PIPE
        )
        return json.loads(ran.stdout), table.read_text(encoding="utf-8").rstrip()


def as_list(lines: Iterator[str]) -> str:
    """Return sentences as a list in Markdown."""
    return "\n".join(f"- {each}" for each in lines)


def surface_prose(surface: dict[str, Any]) -> Iterator[str]:
    """Yield in sentences what the tables of sizes come to."""
    modes = surface["modes"]
    told = sorted(modes, key=lambda each: each["told"]["tokens"])
    yield "Told before the first call, in tokens: " + ", ".join(
        f"`{each['name']}` {'at least ' if each.get('isAbridged') else ''}{each['told']['tokens']:,}" for each in told
    )
    asked = sorted((each for each in modes if each.get("common")), key=lambda each: each["common"]["size"]["tokens"])
    together = ", ".join(f"`{each['name']}` {each['common']['size']['tokens']:,}" for each in asked)
    yield f"Answers to the {len(surface['commonQuestions'])} questions that all answer, in tokens: {together}"
    by_median = sorted(asked, key=lambda each: each["common"]["tokensP50"])
    medians = ", ".join(f"`{each['name']}` {each['common']['tokensP50']:,}" for each in by_median)
    yield f"The median of these answers: {medians}"
    largest = ", ".join(
        f"`{each['name']}` {each['common']['tokensLargest']:,} ({each['common']['largest']})" for each in asked
    )
    yield f"The largest of them: {largest}"
    for key, words in (("cutOff", "Lists cut off without a word"), ("overLimit", "Answers over the limit")):
        counts = {each["name"]: sum(bool(row.get(key)) for row in each["rows"]) for each in asked}
        yield f"{words}: " + ", ".join(f"`{name}` {count}" for name, count in counts.items())


def exposure_prose(exposure: dict[str, Any]) -> Iterator[str]:
    """Yield in sentences what the matrix comes to."""
    for each in exposure["modes"]:
        shown = {
            carrier
            for tool in each["tools"]
            for carrier, states in tool["states"].items()
            if states.get("outsider") == "shown"
        }
        hidden = [name for name in ("html-comment", "zero-width") if name in shown]
        yield (
            f"`{each['name']}` shows the text of an outsider from {len(shown)} of {len(exposure['carriers'])} carriers"
            + (f", what no page shows among them ({', '.join(hidden)})" if hidden else "")
        )


def without_tools(tables: str) -> str:
    """Return the tables of exposure without those that name each tool, which are longer than all the rest."""
    blocks = re.split(r"\n\n(?=\*\*|- )", tables)
    return "\n\n".join(each for each in blocks if "which tools show what" not in each.partition("\n")[0])


def gaps(absent: dict[str, str]) -> Iterator[str]:
    """Yield what is not measured, and why."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in absent.items():
        by_reason.setdefault(reason.removeprefix(f"mode {name!r}: "), []).append(f"`{name}`")
    for reason, names in by_reason.items():
        yield f"not measured: {', '.join(names)}: {reason}"


def judge_public_rows(path: Path, folder: Path) -> str:
    """Return what our statistics say of rows that others have measured: the first screen, and the verdicts."""
    run = [*BENCH, "import", "axi", str(path), "--output-dir", str(folder), "--json"]
    made = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout)
    subprocess.run([*BENCH, "report", made["directory"]], check=True, stdout=subprocess.DEVNULL)
    report = Path(made["directory"], "report", "report.md").read_text(encoding="utf-8")
    parts = {each.partition("\n")[0]: each.partition("\n")[2].strip() for each in report.split("\n## ")}
    opening = next(iter(parts.values()))
    # Of the chart that stands there on the page, the table is what is left.
    glance = parts["Results at a glance"].replace(
        "*Better is to the right. Lines are intervals", "*In brackets are intervals"
    )
    return "\n\n".join((opening, glance, parts["Verdicts, one by one"]))


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
            reason = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1].removeprefix("error: ")
            if "install" not in reason:
                sys.exit(f"{name}: {reason}")  # something else is wrong, and would make a table of too few modes
            absent[name] = reason
    return modes, absent


if __name__ == "__main__":
    main()
