"""Write into docs/toolsets.md what `ghx-bench surface` and `expose` say of the built-in modes that are installed here.

The samples in README.md, docs/quickstart.md and docs/toolsets.md are written by the same run: the table at the end of
`make demo`, a first look at a server, and the comparison of two versions of the toy server of the tests.

    python scripts/toolsets_table.py [--date 2026-11-18] [--tools NAME=FILE ...] [--axi FILE]

Install the packages first (`ghx-bench doctor --install gh-axi npm-mcp`), and the extra `tokens`. `--date` is what the
page says, today unless given; `--tools` adds a server that is measured by its list of tools, under
a name; `--axi` is the `results.jsonl` of the AXI benchmark, whose verdicts are put beside.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ghx_bench.modes.definitions import BUILT_IN
from ghx_bench.toolsets.answers import AnswerRow, compare_answers
from ghx_bench.toolsets.questions import built_in_table

ROOT = Path(__file__).parents[1]
README, QUICKSTART, PAGE = ROOT / "README.md", ROOT / "docs" / "quickstart.md", ROOT / "docs" / "toolsets.md"
TOY = ROOT / "tests" / "support" / "toy_mcp_server.py"
DEMO = ("baseline", "ghx", "ghx-mcp")
"""The modes of `make demo`."""
SECTION = r"(<!-- generated: {} -->\n).*?(<!-- end -->)"
BENCH = (sys.executable, "-m", "ghx_bench.cli.main")


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
        texts["compare"] = fenced("console", compare_versions(Path(folder, "versions")))
        write_sections(PAGE, texts)
        write_sections(README, {"demo": fenced("text", run_bench("surface", "--brief", *DEMO))})
        if "npm-mcp" in modes:
            write_sections(QUICKSTART, {"own-server": fenced("console", start_server(Path(folder, "own")))})
    sys.stdout.write(f"{PAGE}: {', '.join(modes)}; not installed: {', '.join(absent) or 'none'}" + "\n")


def write_sections(page: Path, texts: dict[str, str]) -> None:
    """Replace what stands between the marks of a page."""
    whole = page.read_text(encoding="utf-8")
    for name, text in texts.items():
        section = re.compile(SECTION.format(name), re.DOTALL)
        whole, count = section.subn(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", whole)
        if count != 1:
            sys.exit(f"{page}: there are {count} sections for {name}, and not one")
    page.write_text(whole, encoding="utf-8")


def fenced(kind: str, text: str) -> str:
    """Return a block of code in Markdown."""
    return f"```{kind}\n{text.rstrip()}\n```"


def run_bench(*words: str, folder: Path = ROOT, environ: dict[str, str] | None = None) -> str:
    """Return what a command prints, without spaces at the ends of lines."""
    ran = subprocess.run(
        [*BENCH, *words], check=True, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ or dict(os.environ)
    )
    return "\n".join(line.rstrip() for line in ran.stdout.splitlines())


def start_server(folder: Path) -> str:
    """Return what `init --mcp` says of the reference server."""
    folder.mkdir()
    (program,) = (ROOT / ".cache" / "tools").glob("@modelcontextprotocol/server-github/*/node_modules/.bin")
    words = ("init", "--mcp", "mcp-server-github", "--agent", "goose", "my-bench")
    environ = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    return f"$ ghx-bench {' '.join(words)}\n" + run_bench(*words, folder=folder, environ=environ)


def compare_versions(folder: Path) -> str:
    """Return what `compare --mode` says of two versions of the toy server, without what makes it long."""
    (folder / "build").mkdir(parents=True)
    for file, flag in (("server", "--first"), ("build/head", "--second")):
        text = (
            f"import sys\nsys.path.insert(0, {str(TOY.parent)!r})\nimport toy_mcp_server\nsys.argv.append({flag!r})\n"
        )
        (folder / f"{file}.py").write_text(f"{text}toy_mcp_server.main()\n", encoding="utf-8")
    server = {"my-server": {"command": sys.executable, "args": ["./server.py"]}}
    where = {"owner": "{{owner}}", "repo": "{{name}}"}
    issue = {**where, "issue_number": 1}
    calls = {
        "issue-view": {"tool": "get_issue", "arguments": issue},
        "issue-comment": {"tool": "add_comment", "arguments": {**issue, "body": "Yes."}},
        "labels-list": {"tool": "list_labels", "arguments": where},
        "milestones-list": {"tool": "list_milestones", "arguments": where},
    }
    questions = [{"id": id_, "calls": {"my-server": call}} for id_, call in calls.items()]
    config = {"modes": [{"name": "my-server", "mcp_servers": server}]}
    (folder / "eval.config.yaml").write_text(json.dumps(config), encoding="utf-8")
    (folder / "calls.yaml").write_text(json.dumps({"version": 1, "questions": questions}), encoding="utf-8")
    words = ("compare", "--mode", "my-server", "--mode", "my-server@./build/head.py", "--questions", "calls.yaml")
    told = run_bench(*words, folder=folder)
    told = re.sub(r"(?m)^(Flows: no run was given.{60}).*$", r"\1...", told)
    return f"$ ghx-bench {' '.join(words)}\n{told}"


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
    asked = [each for each in modes if each.get("common")]
    yield from (ratio_sentence(asked[0], each) for each in asked[1:])
    medians = ", ".join(f"`{each['name']}` {each['common']['tokensP50']:,}" for each in asked)
    yield f"The median of the answers to the {len(surface['commonQuestions'])} questions that all answer: {medians}"
    lists = {each["name"]: [row for row in each["rows"] if row.get("items") is not None] for each in asked}
    whole = {name: sum(row["items"] == row["total"] for row in rows) for name, rows in lists.items()}
    cut = {name: sum(bool(row.get("cutOff")) for row in rows) for name, rows in lists.items()}
    for words, counts in (("Lists that are shown whole", whole), ("Lists cut off without a word", cut)):
        yield f"{words}: " + ", ".join(f"`{name}` {count} of {len(lists[name])}" for name, count in counts.items())


def ratio_sentence(first: dict[str, Any], mode: dict[str, Any]) -> str:
    """Return how a mode compares with the first one, and whether that hangs on fields that we chose for either."""
    found = mode["against"]
    chosen = {
        question.id
        for question in built_in_table().questions
        for name in (first["column"], mode["column"])
        for step in question.steps(name, {})
        if isinstance(step, str) and " --jq " in step
    }
    rows = [tuple(row for row in each["rows"] if row["id"] not in chosen) for each in (first, mode)]
    plain = compare_answers(first["name"], *(tuple(map(AnswerRow.model_validate, each)) for each in rows))
    return (
        f"`{mode['name']}` held against `{first['name']}`, in tokens written and read, of lists for each item: smaller "
        f"in {found['smaller']} and larger in {found['larger']} of {found['questions']} questions that both answer; "
        f"{found['geometricMean']:.2f} times as much in the geometric mean, {found['median']:.2f} in the median, from "
        f"{found['lowest'][1]:.2f} ({found['lowest'][0]}) to {found['highest'][1]:.2f} ({found['highest'][0]})"
        + ("" if plain is None else f"; without what either asks with `--jq`, {plain.geometric_mean:.2f}")
    )


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
