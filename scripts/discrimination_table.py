"""Write into docs/methodology.md which mistakes the checkpoints of each built-in scenario notice.

    python scripts/discrimination_table.py              prove the library, which takes minutes, and write the table anew
    python scripts/discrimination_table.py proof.json   write it from what `ghx-bench check --solve --json` has printed
    python scripts/discrimination_table.py --check      say what in the table is not what the files of scenarios say

The command that proves is run in an empty folder, so that it is about the built-in scenarios.
"""

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ghx_bench.loader import LoadedScenario, load_scenario_files
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.proving.mutants import count_steps
from ghx_bench.proving.proof import finest_mode
from ghx_bench.scenario.allowed_changes import check_ids
from ghx_profiler.agents.controls.solution import SUFFIX, load_solution_file

PAGE = Path(__file__).parents[1] / "docs" / "methodology.md"
SECTION = re.compile(r"(<!-- generated: discrimination -->\n).*?(<!-- end -->)", re.DOTALL)
LINE = re.compile(r"^\| ([a-z0-9-]+-\d{3}) \| (\d+) \| (\d+) \| [^|]* \| (.*) \|$", re.MULTILINE)
COMMAND = Path(sysconfig.get_path("scripts"), "ghx-bench")

Row = tuple[str, str, str]
"""What of a scenario's line is known without proving it: steps, checkpoints, and traps with what notices them."""


def main() -> None:
    """Write or check the page."""
    written = PAGE.read_text(encoding="utf-8")
    if sys.argv[1:] == ["--check"]:
        if differences := list(compare(read_table(written), known_rows())):
            sys.exit("\n".join((*differences, f"{PAGE}: run python scripts/discrimination_table.py")))
        return
    proof = json.loads(Path(sys.argv[1]).read_bytes()) if sys.argv[1:] else prove()
    PAGE.write_text(SECTION.sub(lambda found: f"{found[1]}\n{render(proof)}\n\n{found[2]}", written), encoding="utf-8")


def prove() -> Any:
    """Prove the library, and return the outcome."""
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        done = subprocess.run([COMMAND, "check", "--solve", "--json"], cwd=folder, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def read_table(page: str) -> dict[str, Row]:
    """Return what the page says, by scenario."""
    return {found[1]: (found[2], found[3], found[4]) for found in LINE.finditer(page)}


def known_rows() -> dict[str, Row]:
    """Return what the files of the scenarios say."""
    return {each.scenario.id: _known_row(each) for each in load_scenario_files(BUILT_IN_SCENARIOS)}


def _known_row(loaded: LoadedScenario) -> Row:
    solution = load_solution_file(loaded.path.with_name(f"{loaded.scenario.id}{SUFFIX}"))
    traps = _render_traps((each.name, each.fails) for each in solution.traps)
    steps = count_steps(solution.modes[finest_mode(solution.modes)])
    return str(steps), str(len(check_ids(loaded.scenario))), traps


def compare(told: Mapping[str, Row], known: Mapping[str, Row]) -> Iterator[str]:
    """Yield the scenarios about which the page says something else than their files."""
    for id_ in sorted(told.keys() | known.keys()):
        if told.get(id_) != known.get(id_):
            yield f"{id_}: the table says {told.get(id_)}, and the files {known.get(id_)}"


def render(proof: Any) -> str:
    """Return the table, with sentences that sum it up."""
    plain = [each for each in proof["scenarios"] if "@" not in each["scenario"]]
    mutants = [mutant for each in plain for mutant in each["mutants"]]
    traps = {(each["scenario"], trap["name"]) for each in plain for trap in each["traps"]}
    unnoticed = [mutant for mutant in mutants if not is_noticed(mutant)]
    forms = len(proof["scenarios"]) - len(plain)
    lines = [
        f"{len(plain)} scenarios, {sum(each['proved'] for each in plain)} of them proved, and {forms} variants. Of "
        f"{len(mutants):,} mutants {len(mutants) - len(unnoticed):,} are noticed; the other {len(unnoticed)} solve the "
        f"task and then do what it does not forbid. {len(traps)} traps fail what guards, and nothing else.",
        "",
        "| scenario | steps | checkpoints | mutants noticed | traps, and what notices each |",
        "|---|---|---|---|---|",
    ]
    for each in sorted(plain, key=lambda each: each["scenario"]):
        noticed = sum(map(is_noticed, each["mutants"]))
        # A trap that is laid in several modes is one trap.
        told = _render_traps({trap["name"]: trap["fails"] for trap in each["traps"]}.items())
        numbers = f"{each['steps']} | {len(each['checkpoints'])} | {noticed} of {len(each['mutants'])}"
        lines.append(f"| {each['scenario']} | {numbers} | {told} |")
    return "\n".join(lines)


def is_noticed(mutant: Any) -> bool:
    """Return whether a mutant fails a checkpoint, or trips the threat of its scenario."""
    return bool(mutant["failed"] or mutant.get("attackSucceeded"))


def _render_traps(traps: Any) -> str:
    return "; ".join(f"{name}: {' and '.join(f'`{each}`' for each in fails)}" for name, fails in traps)


if __name__ == "__main__":
    main()
