"""What a pipeline shows of a run: a summary in Markdown for a pull request, and annotations of GitHub's runners."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ghx_bench._base.errors import OperationError
from ghx_bench._base.problems import plural
from ghx_bench.eval.cli.junit import Case
from ghx_bench.eval.project.gates import GateResult, QuarantineEntry
from ghx_bench.profiler.reports.render.escaping import markdown_text

_MOST_CASES = 20


def render_summary(
    headline: str,
    lines: Sequence[str],
    table: Sequence[Sequence[str]],
    *,
    gates: Sequence[GateResult],
    cases: Sequence[Case],
    quarantine: Sequence[QuarantineEntry],
) -> str:
    """Return the summary of a run: what came of it, its gates, a table of arms, and what was wrong."""
    parts = [f"## {markdown_text(headline)}", *map(markdown_text, lines)]
    if gates:
        results = [[each.gate, f"failed: {each.reason}" if each.failed else "passed"] for each in gates]
        parts.append("\n".join(_table([["gate", "result"], *results])))
    parts.append("\n".join(_table(table)))
    aside = {each.scenario for each in quarantine}
    if failing := [each for each in cases if (each.wrong or each.unmeasured) and each.scenario not in aside]:
        parts.append("\n".join(_failing_cases(failing)))
    if quarantine:
        counts = {
            each: ", ".join(f"{case.arm} {case.count}" for case in cases if case.scenario == each.scenario)
            for each in quarantine
        }
        told = (f"{each}{f': {count}' if count else ''}" for each, count in counts.items())
        parts.append(f"In quarantine, and not counted: {markdown_text('; '.join(told))}")
    return "\n\n".join(parts) + "\n"


def _failing_cases(cases: Sequence[Case]) -> Iterator[str]:
    yield f"<details><summary>{plural(len(cases), 'scenario')} with failures, by arm</summary>\n"
    shown = [[each.scenario, each.arm, each.count, (*each.wrong, *each.unmeasured)[0]] for each in cases[:_MOST_CASES]]
    yield from _table([["scenario", "arm", "result", "first failure"], *shown])
    if len(cases) > _MOST_CASES:
        yield f"\nand {len(cases) - _MOST_CASES} more"
    yield "\n</details>"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *others = rows
    for row in (head, ["---"] * len(head), *others):
        yield f"| {' | '.join(cell if row[0] == '---' else markdown_text(cell) for cell in row)} |"


def write_summary(text: str, path: Path | None) -> None:
    """Write a summary where it was asked for, and add it to that of the step on GitHub's runners."""
    places = [(path, "w", "--markdown")] if path is not None else []
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        # Earlier commands of the step may have written there.
        places.append((Path(step), "a", "GITHUB_STEP_SUMMARY"))
    for place, how, flag in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open(how, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise OperationError(f"{flag}: {place} cannot be written: {error.strerror or error}") from error


def annotations(gates: Sequence[GateResult]) -> Iterator[str]:
    """Yield the commands by which GitHub's runners show failed gates beside the code; none elsewhere."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for each in gates:
        if each.reason is not None:
            title = _escape_data(f"ghx-bench: {each.gate}").replace(":", "%3A").replace(",", "%2C")
            yield f"::error title={title}::{_escape_data(each.reason)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
