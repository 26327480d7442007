"""How long it takes to load many scenarios: files that are all fine, as JSON and as YAML, and one that is not.

Each file is read, validated, and checked for capabilities, variables, references and scorers, as before every run. Half
of the files have one checkpoint, half have four. Every measurement runs in a process of its own, with the files warm.
"""

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from _figures import Budget, Figure, show
from _processes import time_program, workplace

FILES = 10_000
BUDGET = Budget(value=5, words="under 5 s")


def scenario(number: int) -> dict[str, object]:
    """Make a scenario of the usual size, with fixtures, variables and conditions."""
    checkpoint = {
        "description": "The first unresolved thread has a reply, so the original comment and the agent's make two",
        "task": "pr.threads.list",
        "input": {
            "owner": "{{owner}}",
            "name": "{{repo_name}}",
            "prNumber": "{{pr_number}}",
            "unresolvedOnly": True,
        },
        "condition": {"type": "field_equals", "path": "items.0.comments.length", "value": 2},
    }
    return {
        "id": f"pr-reply-threads-{number}-001",
        "name": "Reply to unresolved review threads",
        "description": "The agent lists the unresolved review threads of a pull request and replies to each. " * 3,
        "category": "pr",
        "difficulty": "intermediate",
        "prompt": "Pull request #{{pr_number}} in {{repo}} has unresolved review threads. Reply to each of them. " * 3,
        "timeoutMs": 120_000,
        "allowedRetries": 1,
        "tags": ["pr", "review", "reply"],
        "fixture": {
            "repo": "{{fixture_repo}}",
            "requires": ["pr_with_mixed_threads"],
            "bindings": {"pr_number": "pr_with_mixed_threads.number", "repo": "pr_with_mixed_threads.repo"},
        },
        "assertions": {
            "checkpoints": [{"id": f"reply-{index}", **checkpoint} for index in range(1 if number % 2 else 4)],
            "expectedCapabilities": ["pr.view", "pr.threads.list", "pr.threads.reply"],
        },
    }


class Written(yaml.SafeDumper):
    """Writes YAML as people do: in full, without aliases for what is said twice."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the library's signature
        """Never write one."""
        return True


def write(folder: Path, count: int, suffix: str) -> None:
    folder.mkdir()
    for number in range(count):
        value = scenario(number)
        dumped = json.dumps(value, indent=2) if suffix == "json" else yaml.dump(value, Dumper=Written, sort_keys=False)
        (folder / f"{value['id']}.{suffix}").write_text(dumped)


def load(folder: Path) -> None:
    """Load a folder and print the seconds that took and the most memory ever held; runs in a process of its own."""
    from ghx_base.errors import DocumentError  # noqa: PLC0415 - importing is not what is measured
    from ghx_bench import load_eval_scenarios  # noqa: PLC0415 - the same

    began = time.perf_counter()
    try:
        loaded = len(load_eval_scenarios(folder))
    except DocumentError as error:
        loaded = len(error.problems)
    seconds = time.perf_counter() - began
    print(json.dumps([loaded, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measure(folder: Path, rounds: int, expected: int) -> tuple[list[float], list[float]]:
    seconds: list[float] = []
    megabytes: list[float] = []
    for _ in range(rounds):
        command = [sys.executable, __file__, "--load", str(folder)]
        loaded, took, peak = json.loads(time_program(command).output)
        if loaded != expected:
            raise SystemExit(f"expected {expected}, got {loaded}")
        seconds.append(took)
        megabytes.append(peak / (1024 if sys.platform == "linux" else 1024**2))
    return seconds, megabytes


def figure(what: str, values: Sequence[float], unit: str, budget: Budget | None = None) -> Figure:
    spread = (min(values), max(values))
    return Figure(what=what, value=statistics.median(values), unit=unit, spread=spread, budget=budget)


def measure_all(count: int, rounds: int) -> list[Figure]:
    figures: list[Figure] = []
    with workplace() as temporary:
        for suffix in ("json", "yaml"):
            folder = Path(temporary, suffix)
            write(folder, count, suffix)
            seconds, megabytes = measure(folder, rounds, count)
            budget = BUDGET if count == FILES else None
            figures.append(figure(f"load {count:,} {suffix.upper()} files", seconds, "s", budget))
            figures.append(figure(f"  most memory held, {suffix.upper()}", megabytes, "MB"))
        broken = scenario(0) | {"timeoutMs": "soon"}
        Path(temporary, "json", f"{broken['id']}.json").write_text(json.dumps(broken))
        seconds, _ = measure(Path(temporary, "json"), rounds, 1)
        figures.append(figure(f"find the one problem in {count:,} JSON files", seconds, "s"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the files, once; to see that it runs")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        load(given.load)
        return
    count, rounds = (given.files // 100, 1) if given.quick else (given.files, given.rounds)
    show(measure_all(count, rounds), packages=["ghx-bench", "pydantic", "pyyaml"], as_json=given.json)


if __name__ == "__main__":
    main()
