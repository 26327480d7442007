"""Write into docs/security.md, and for `check --solve`, what the snoop agent finds at each isolation level.

    python scripts/snoop_table.py           write the table again
    python scripts/snoop_table.py --check   say which probes have another outcome than the page says

A column that cannot be measured here stays as it is: that of the sandbox without bubblewrap, that of root without root.
"""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import ghx_bench
from ghx_bench.proving.isolation import ADMITTED
from ghx_bench.snoop import ANALYZER, PROBES
from ghx_profiler.agents.processes.sandbox import NoSandboxError, Ring, require_sandbox

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
SCENARIOS = Path(ghx_bench.__file__).parent / "scenarios"
SECTION = re.compile(r"(<!-- generated: probes -->\n).*?(<!-- end -->)", re.DOTALL)
LINE = re.compile(r"^\| (\d+) \| .* \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
FOUND, NOT_FOUND = "**found**", "no"
COMMAND = Path(sysconfig.get_path("scripts"), "ghx-bench")
# Own files stay own files in it, and all rights over others are gone: as for the account of any user.
WITHOUT_RIGHTS = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
# In /proc, root stays root in such a namespace: these are measured where the account is another.
ASK_FOR_REAL_ACCOUNT = frozenset(probe.number for probe in PROBES if "of the kernel" in probe.looks_for)

# A program that the person has running next to the bench, with a key of theirs.
WITH_COMPANY = ("sh", "-c", 'PERSONAL_API_KEY=canary sleep 3600 & exec "$@"', "sh")

CONFIG = """
agents: [prying, ./standing.py:Standing]
modes: [baseline]
scenarios: {ids: [prying-001]}
execution: {repetitions: 1, warmup: false, max_concurrency: 2}
"""
STANDING = '''
"""An agent that keeps a session open, with a process in it, until the other agent is done."""

from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ghx_profiler.agents import program
from ghx_profiler import Answer, TraceRecorder


class Standing:
    name = "standing"

    @asynccontextmanager
    async def session(self, request):
        async with program(["sleep", "600"], environment=request.environment, directory=request.directory):
            yield self

    async def prompt(self, text):
        while not any(path.stat().st_size for path in Path("results").glob("run_*/rows.jsonl")):
            await anyio.sleep(0.1)
        return Answer(text="stood")

    async def trace(self):
        return TraceRecorder().trace()
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An isolation level, and the account that sessions run under."""

    heading: str
    ring: Ring
    is_root: bool

    def can_be_measured(self) -> bool:
        """Return whether this machine and this account can."""
        if self.ring == "bwrap":
            try:
                require_sandbox()
            except NoSandboxError:
                return False
        return not self.is_root or os.geteuid() == 0


COLUMNS = (
    Column(heading="plain", ring="plain", is_root=False),
    Column(heading="plain, as root", ring="plain", is_root=True),
    Column(heading="bwrap", ring="bwrap", is_root=False),
)


def main() -> None:
    """Write or check the page."""
    written = PAGE.read_text(encoding="utf-8")
    measured = {column.heading: pry(column) for column in COLUMNS if column.can_be_measured()}
    if sys.argv[1:] == ["--check"]:
        if differences := list(compare(read_table(written), measured)):
            sys.exit("\n".join((*differences, f"{PAGE}: run python scripts/snoop_table.py if that is as it should be")))
        return
    outcomes = {**read_table(written), **measured}
    ADMITTED.write_text(write_admitted(outcomes), encoding="utf-8")
    table = render(outcomes)
    PAGE.write_text(SECTION.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", written), encoding="utf-8")


def pry(column: Column, config: str = CONFIG) -> set[int]:
    """Run the snoop agent next to a session of another, and return the numbers of the probes that succeeded."""
    with tempfile.TemporaryDirectory(prefix="prying-") as folder:
        Path(folder, "scenarios").mkdir()
        files = {"eval.config.yaml": config, "standing.py": STANDING, "scenarios/prying-001.yaml": scenario()}
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        account = WITHOUT_RIGHTS if os.geteuid() == 0 and not column.is_root else ()
        started = subprocess.Popen(
            [*account, *WITH_COMPANY, COMMAND, "run", "--no-report", "--sandbox", column.ring],
            cwd=folder,
            # What the person who starts a run has in their environment is not a session's.
            env={**os.environ, "MODEL_API_KEY": "canary"},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if started.wait() != 0:
                raise RuntimeError("the run failed")
        finally:
            os.killpg(started.pid, signal.SIGKILL)
        (file,) = Path(folder, "results").glob("run_*/analysis/prying/**/*.json")
        probes = json.loads(file.read_bytes())["results"][ANALYZER]["findings"]["probes"]["rows"]
    if len(probes) != len(PROBES):
        raise RuntimeError(f"{len(probes)} of {len(PROBES)} probes were run")
    found = {int(number) for number, _, outcome in probes if outcome == "found"}
    return found - ASK_FOR_REAL_ACCOUNT if account and column.ring == "plain" else found


def scenario() -> str:
    """Return a task that leaves time to look around, however busy the machine is."""
    task = (SCENARIOS / "issue" / "issue-triage-001.yaml").read_text(encoding="utf-8")
    return re.sub("timeoutMs: .*", "timeoutMs: 900000", task.replace("issue-triage-001", "prying-001"))


def read_table(page: str) -> dict[str, set[int]]:
    """Return what succeeds according to the page, by column."""
    lines = [(int(found[1]), found.groups()[1:]) for found in LINE.finditer(page)]
    return {
        column.heading: {number for number, cells in lines if cells[place] == FOUND}
        for place, column in enumerate(COLUMNS)
    }


def compare(told: Mapping[str, set[int]], measured: Mapping[str, set[int]]) -> Iterator[str]:
    """Yield the probes whose outcome is another than the page says."""
    for heading, found in measured.items():
        for number in sorted(found ^ told[heading]):
            outcome = "succeeded, and the page does not say so" if number in found else "failed, against the page"
            yield f"{heading}: probe {number} ({PROBES[number - 1].looks_for}) {outcome}"


def write_admitted(outcomes: Mapping[str, set[int]]) -> str:
    """Return the same for programs."""
    return json.dumps({heading: sorted(numbers) for heading, numbers in outcomes.items()}) + "\n"


def render(outcomes: Mapping[str, set[int]]) -> str:
    """Return the table, with a sentence that sums it up."""
    plain, root, sandboxed = (len(outcomes[column.heading]) for column in COLUMNS)
    lines = [
        f"Of {len(PROBES)} probes, {plain} succeed in the plain ring ({root} where the bench runs as root) and "
        f"{sandboxed} in the sandbox.",
        "",
        f"| | it looks for | {' | '.join(column.heading for column in COLUMNS)} |",
        f"|---|---|{'---|' * len(COLUMNS)}",
    ]
    for probe in PROBES:
        cells = (FOUND if probe.number in outcomes[column.heading] else NOT_FOUND for column in COLUMNS)
        lines.append(f"| {probe.number} | {probe.looks_for} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
