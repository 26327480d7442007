#!/usr/bin/env python
"""Break one promise at a time, and report which test notices: README's promises, and what the tests of each kind guard.

    python scripts/mutants.py            all of them, some minutes
    python scripts/mutants.py retries    those with this word in their names
    python scripts/mutants.py --list     their names

Each edit changes one line of a copy of the tree, below `.cache/`, and runs the tests that should fail there. The exit
code is 1 if an edit survives or does not apply.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPY = ROOT / ".cache" / "mutants"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit: in `file`, `old` becomes `new`; of `tests`, at least one must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


_TOOLS = "packages/tools/src/ghx_tools/capabilities"
_PROFILER = "packages/profiler/src/ghx_profiler"
_BENCH = "packages/bench/src/ghx_bench"
_TWIN = "packages/twin/src/ghx_twin"

MUTANTS = (
    Mutant(
        "capabilities: a change that may have been made is retried",
        f"{_TOOLS}/client.py",
        "return error.retryable and not (mutates and error.sent)",
        "return error.retryable",
        "packages/tools/tests/capabilities/test_client.py packages/tools/tests/capabilities/test_lost_answers.py",
    ),
    Mutant(
        "capabilities: wrong input is reported as a wrong answer of GitHub",
        f"{_TOOLS}/execution.py",
        'reason="INPUT_VALIDATION"',
        'reason="OUTPUT_VALIDATION"',
        "packages/tools/tests/capabilities/test_execution.py",
    ),
    Mutant(
        "capabilities: an answer of another shape raises",
        f"{_TOOLS}/execution.py",
        "except (ValueError, LookupError, TypeError, RecursionError) as error:",
        "except RecursionError as error:",
        "packages/tools/tests/capabilities/test_execution.py",
    ),
    Mutant(
        "capabilities: what GitHub does not have is another error",
        f"{_TOOLS}/responses.py",
        "404: ErrorCode.NOT_FOUND,",
        "404: ErrorCode.VALIDATION,",
        "packages/tools/tests/capabilities/test_every_capability.py",
    ),
    Mutant(
        "emulator: the addresses of an enterprise server are gone",
        f"{_TWIN}/urls.py",
        'prefixes = ("/api/v3", *_PREFIXED)',
        "prefixes = _PREFIXED",
        "packages/twin/tests/server/test_endpoints.py",
    ),
    Mutant(
        "emulator: an answer lacks a field that GitHub describes",
        f"{_TWIN}/rest/render/issues/labels.py",
        '        "default": label.default,\n',
        "",
        "packages/twin/tests/rest/test_conformance.py",
    ),
    Mutant(
        "emulator: what it lacks is a 404",
        f"{_TWIN}/rest/dispatch.py",
        "    if operation_name is None:\n        return no_such_path()",
        "    if operation_name is None or operation_name:\n        return no_such_path()",
        "packages/twin/tests/rest/test_routing.py packages/twin/tests/test_catalogue.py",
    ),
    Mutant(
        "emulator: copies of a world share their repositories",
        f"{_TWIN}/world.py",
        "return type(self)(self.database.copy(), self.storage.fork())",
        "return type(self)(self.database.copy(), self.storage)",
        "packages/twin/tests/test_world.py",
    ),
    Mutant(
        "emulator: a fault is never injected",
        f"{_TWIN}/server/injected_faults.py",
        "return method in _READING",
        "return False",
        "packages/twin/tests/server/test_faults.py",
    ),
    Mutant(
        "emulator: tests share the world of the pytest fixture",
        f"{_TWIN}/pytest_plugin.py",
        "@pytest.fixture\ndef github_world(request: pytest.FixtureRequest)",
        '@pytest.fixture(scope="session")\ndef github_world(request: pytest.FixtureRequest)',
        "packages/twin/tests/clients/test_pytest_plugin.py",
    ),
    Mutant(
        "documents: a key that stands twice is accepted",
        "packages/base/src/ghx_base/documents/text.py",
        "            flaws.add_duplicate(key, first=before.key_start, offset=start)\n",
        "            pass\n",
        "packages/base/tests/test_document_flaws.py packages/base/tests/test_document_values.py",
    ),
    Mutant(
        "check: a scenario may have another name than its file",
        f"{_BENCH}/checking/project_check.py",
        "if document.path.stem != scenario.id:",
        "if False:",
        "packages/bench/tests/test_file_commands.py",
    ),
    Mutant(
        "input: a mistake ends with another exit code than 2",
        "packages/base/src/ghx_base/errors.py",
        "exit_code: ClassVar[int] = 2",
        "exit_code: ClassVar[int] = 1",
        "packages/base/tests/test_commandline.py packages/bench/tests/test_file_commands.py",
    ),
    Mutant(
        "run: an interruption has another exit code than 130",
        "packages/base/src/ghx_base/commandline.py",
        "INTERRUPTED = 130",
        "INTERRUPTED = 1",
        "packages/base/tests/test_commandline.py packages/bench/tests/test_interruption.py",
    ),
    Mutant(
        "run: cells that were not measured do not show in the exit code",
        f"{_BENCH}/cli/running/measuring.py",
        "return NOT_ALL_MEASURED",
        "return 0",
        "packages/bench/tests/test_run_command.py",
    ),
    Mutant(
        "run: a gate that failed does not show in the exit code",
        f"{_BENCH}/cli/running/measuring.py",
        "return FAILED if any(each.failed for each in gates) else 0",
        "return 0",
        "packages/bench/tests/test_run_command.py packages/bench/tests/test_attack_gates.py",
    ),
    Mutant(
        "rows: a damaged line in the middle is skipped as if a crash had cut it off",
        f"{_PROFILER}/store/rows.py",
        'if not line.endswith(b"\\n") and first["type"] == "json_invalid":',
        'if first["type"] == "json_invalid":',
        "packages/profiler/tests/test_store.py",
    ),
    Mutant(
        "rows: a row counts before it is on disk",
        f"{_PROFILER}/store/rows.py",
        "            # Before `append` returns: a cell that counts as done must survive a power cut, not only a kill.\n"
        "            os.fsync(self._handle)\n",
        "",
        "packages/profiler/tests/test_store.py",
    ),
    Mutant(
        "resume: cells that have a row are measured again",
        f"{_PROFILER}/runner/head.py",
        "for place, cell in placed if cell not in self.store.done]",
        "for place, cell in placed]",
        "packages/profiler/tests/test_suite.py packages/bench/tests/test_resume_command.py",
    ),
    Mutant(
        "rows: turns that nobody reported become zero",
        f"{_PROFILER}/records/outcome.py",
        '"agent_turns": trace.summary.total_turns if trace else None,',
        '"agent_turns": trace.summary.total_turns if trace else 0,',
        "packages/profiler/tests/test_suite.py packages/profiler/tests/test_iteration.py",
    ),
    Mutant(
        "statistics: missing values are counted in medians",
        f"{_PROFILER}/stats/summary.py",
        "    chosen = np.flatnonzero(of_mode & ~np.isnan(column))\n",
        "    column = np.nan_to_num(column)\n    chosen = np.flatnonzero(of_mode)\n",
        "packages/profiler/tests/stats/test_summary.py",
    ),
    Mutant(
        "statistics: a scenario with more repetitions weighs more",
        f"{_PROFILER}/stats/pairs.py",
        "return 1 / (len(self.scenarios) * blocks[self._scenario_of])",
        "return np.full(len(self.blocks), 1 / len(self.blocks))",
        "packages/profiler/tests/stats",
    ),
    Mutant(
        "order: it does not depend on the seed",
        f"{_PROFILER}/plan/cell.py",
        'random.Random(f"{self.seed}/{repetition}/{scenario_id}")',
        'random.Random(f"{repetition}/{scenario_id}")',
        "packages/profiler/tests/test_suite.py packages/profiler/tests/test_shards.py",
    ),
    Mutant(
        "retries: failures that will not pass are tried again",
        f"{_PROFILER}/runner/iteration.py",
        "not outcome.may_work_next_time or ",
        "",
        "packages/profiler/tests/test_iteration.py",
    ),
    Mutant(
        "retries: earlier attempts are not on the row",
        f"{_PROFILER}/runner/iteration.py",
        "        attempts.append(attempt_of(outcome, len(attempts) + 1))\n",
        "        attempts[:] = [attempt_of(outcome, len(attempts) + 1)]\n",
        "packages/profiler/tests/test_iteration.py",
    ),
    Mutant(
        "timeouts: child processes outlive their session",
        f"{_PROFILER}/agents/processes/keeper.py",
        "    kill_all(find_descendants(root))",
        "    kill_all([])",
        "packages/profiler/tests/agents",
    ),
    Mutant(
        "checkpoints: other changes of the agent are not seen",
        f"{_BENCH}/scoring/checkpoints.py",
        "        if not is_fine and not (",
        "        if not is_fine and is_fine and not (",
        "packages/bench/tests/test_collateral_changes.py",
    ),
    Mutant(
        "proof: a scenario that is solved by doing nothing is proved",
        f"{_BENCH}/proving/verdicts.py",
        "    elif not nop.failed:",
        "    elif False:",
        "packages/bench/tests/test_proof.py packages/bench/tests/test_mutants.py",
    ),
)


def main() -> int:
    """Try the edits, print a line for each, and return how it ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("words", nargs="*", help="only edits with one of these words in their names")
    given = parser.parse_args()
    chosen = [each for each in MUTANTS if not given.words or any(word in each.name for word in given.words)]
    if given.list:
        print("\n".join(each.name for each in chosen))
        return 0
    make_copy()
    noticed = [try_out(each) for each in chosen]
    print(f"{sum(noticed)} of {len(chosen)} noticed")
    return 0 if all(noticed) else 1


def make_copy() -> None:
    """Copy the tree and set up an environment for the copy: tests start programs, which must import what was edited."""
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.iterdir():
        if path.name != ".venv":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    subprocess.run(["scripts/setup", "dev"], cwd=COPY, check=True)


def try_out(mutant: Mutant) -> bool:
    """Make one edit, run its tests, take the edit back, and print what failed."""
    path = COPY / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        print(f"DOES NOT APPLY  {mutant.name}: {text.count(mutant.old)} places in {mutant.file}", flush=True)
        return False
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        done = subprocess.run(
            [COPY / ".venv/bin/python", "-m", "pytest", "-q", "-x", "-m", "not nightly", *mutant.tests.split()],
            cwd=COPY,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(text, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    print(f"{'noticed ' if failed else 'SURVIVED'}  {mutant.name}: {failed[1] if failed else mutant.tests}", flush=True)
    return failed is not None


if __name__ == "__main__":
    sys.exit(main())
