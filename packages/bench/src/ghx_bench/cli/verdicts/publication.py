"""Results of a run for pipelines: JUnit XML, a summary in Markdown, annotations, failed gates on standard error."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ghx_base.errors import FlagError, OperationError
from ghx_base.files.atomic_files import write_atomically
from ghx_base.problems import plural
from ghx_bench.project.gates import GateResult, QuarantineEntry
from ghx_profiler.control_kinds import CONTROLS
from ghx_profiler.plan.cell import Arm, order_arms
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.render.escaping import markdown_text
from ghx_profiler.scenario import scenario_of
from ghx_profiler.store.record import RunRecord

_MOST_TOLD = 20
_LONGEST = 1_000
_LONGEST_VALUE = 150
_NOT_IN_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_CASES = 20


@dataclass(slots=True, kw_only=True)
class Case:
    """One scenario in one arm: its repetitions, counted, and what was wrong with them."""

    arm: str
    scenario: str
    repetitions: int = 0
    right: int = 0
    wall_ms: float = 0
    wrong: list[str] = field(default_factory=list[str])
    unmeasured: list[str] = field(default_factory=list[str])

    @property
    def count(self) -> str:
        """How many of its repetitions were right, in words."""
        return f"{self.right} of {self.repetitions} right"


class CaseTally:
    """The cases of a run, counted as its rows go by.

    Controls that are hoped to fail are left out: of these, gates alone say whether all is well.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._left_out = {name for name, kind in record.control_agents.items() if not CONTROLS[kind].must_pass}
        self._cases: dict[tuple[Arm, str], Case] = {}

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if row.agent_name in self._left_out:
            return
        matrix, arm = self._record.matrix, self._record.arm_of(row.agent_name, row.model, row.mode)
        case = self._cases.setdefault((arm, row.scenario_id), Case(arm=str(arm), scenario=row.scenario_id))
        case.repetitions += 1
        case.wall_ms += row.timing.wall_ms or 0
        if not row.was_measured:
            case.unmeasured.append(_shorten(f"{matrix.name_cell(row.cell)}: {row.error}"))
        elif row.success is True:
            case.right += 1
        else:
            case.wrong.append(_shorten(f"{matrix.name_cell(row.cell)}: {describe_wrong(row)}"))

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases in the order of the run's plan."""
        matrix = self._record.matrix
        arms = order_arms(
            {arm for arm, _ in self._cases}, agents=matrix.agents, models=matrix.models, modes=matrix.modes
        )
        ordered = product(arms, dict.fromkeys((*matrix.scenario_ids, *(scenario for _, scenario in self._cases))))
        return tuple(self._cases[key] for key in ordered if key in self._cases)


def describe_wrong(row: ProfileRow) -> str:
    """Return what was wrong with a measured cell: the checks that did not hold, or what stopped its agent."""
    unmet = [
        f"{each.description} (expected {_shorten(str(each.expected), _LONGEST_VALUE)}, "
        f"{_shorten(each.error or f'got {json.dumps(each.actual, ensure_ascii=False)}', _LONGEST_VALUE)})"
        for each in row.checkpoint_details
        if not each.passed
    ]
    return "; ".join((*((row.error,) if row.error else ()), *unmet)) or "not a success"


def write_junit(
    path: Path,
    record: RunRecord,
    cases: Sequence[Case],
    gates: Sequence[GateResult],
    quarantine: Mapping[str, QuarantineEntry],
) -> None:
    """Write the cases and gates of a run as JUnit XML; of scenarios in quarantine only how they went is told."""
    root = Element("testsuites")
    elements = [_case_element(each, quarantine.get(each.scenario)) for each in cases]
    _add_suite(root, "scenarios", record, elements, seconds=sum(each.wall_ms for each in cases) / 1000)
    if gates:
        _add_suite(root, "gates", record, [_gate_element(each) for each in gates], seconds=0)
    indent(root)
    try:
        write_atomically(path, tostring(root, encoding="utf-8", xml_declaration=True) + b"\n", durable=False)
    except OSError as error:
        raise OperationError(f"--junit: {path} cannot be written: {error.strerror or error}") from error


def _add_suite(root: Element, name: str, record: RunRecord, cases: Sequence[Element], *, seconds: float) -> None:
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
    # Everything that one or the other of the schemas in use requires, and nothing that one of them does not know.
    suite = SubElement(
        root,
        "testsuite",
        id=str(len(root)),
        package="ghx-bench",
        name=f"ghx-bench {name}",
        timestamp=record.created_at[:19],
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{seconds:.3f}",
    )
    properties = SubElement(suite, "properties")
    for key, value in {"run": record.run_id, "agent": record.provider}.items():
        SubElement(properties, "property", name=key, value=_xml_text(value))
    suite.extend(cases)
    SubElement(suite, "system-out")
    SubElement(suite, "system-err")


def _case_element(case: Case, quarantined: QuarantineEntry | None) -> Element:
    element = Element(
        "testcase", name=_xml_text(case.scenario), classname=_xml_text(case.arm), time=f"{case.wall_ms / 1000:.3f}"
    )
    details = _tell([*case.wrong, *case.unmeasured])
    if quarantined is not None:
        SubElement(element, "skipped", message=_xml_text(f"in quarantine: {quarantined}; {case.count}"))
    elif case.wrong:
        message = f"{len(case.wrong)} of {case.repetitions} wrong: {case.wrong[0]}"
        SubElement(element, "failure", type="wrong", message=_xml_text(message)).text = details
    elif case.unmeasured:
        message = f"{len(case.unmeasured)} of {case.repetitions} could not be measured: {case.unmeasured[0]}"
        SubElement(element, "error", type="not measured", message=_xml_text(message)).text = details
    return element


def _gate_element(gate: GateResult) -> Element:
    element = Element("testcase", name=_xml_text(gate.gate), classname="gates", time="0.000")
    if gate.reason is not None:
        text = _xml_text(gate.reason)
        SubElement(element, "failure", type="gate", message=text).text = text
    return element


def _tell(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - _MOST_TOLD} more"] if len(lines) > _MOST_TOLD else []
    return _xml_text("\n".join((*lines[:_MOST_TOLD], *more)))


def _shorten(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def _xml_text(text: str) -> str:
    """Return text without what XML cannot hold, however it is escaped."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def say_gates(gates: Sequence[GateResult]) -> None:
    """Say which gates failed, and what remains open; on GitHub's runners also beside the code."""
    for each in gates:
        if each.failed:
            print(f"gate failed: {each}", file=sys.stderr)
        elif each.open_question is not None:
            print(f"note: gate {each.gate!r} passed, but: {each.open_question}", file=sys.stderr)
    for line in annotations(gates):
        # Standard error: runners look for commands there as well, and JSON may be on the other stream.
        print(line, file=sys.stderr)


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


def render_summary(
    headline: str,
    lines: Sequence[str],
    table: Sequence[Sequence[str]],
    *,
    gates: Sequence[GateResult],
    cases: Sequence[Case],
    quarantine: Sequence[QuarantineEntry],
) -> str:
    """Return the summary of a run: its headline, its gates, a table of arms, and the failed scenarios."""
    parts = [f"## {markdown_text(headline)}", *map(markdown_text, lines)]
    if gates:
        results = [[each.gate, each.result] for each in gates]
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
        count_words = (f"{each}{f': {count}' if count else ''}" for each, count in counts.items())
        parts.append(f"In quarantine, and not counted: {markdown_text('; '.join(count_words))}")
    return "\n\n".join(parts) + "\n"


def _failing_cases(cases: Sequence[Case]) -> Iterator[str]:
    scenarios = len({scenario_of(each.scenario) for each in cases})
    yield f"<details><summary>{plural(scenarios, 'scenario')} with failures, by arm</summary>\n"
    case_rows = [
        [each.scenario, each.arm, each.count, (*each.wrong, *each.unmeasured)[0]] for each in cases[:_MOST_CASES]
    ]
    yield from _table([["scenario", "arm", "result", "first failure"], *case_rows])
    if len(cases) > _MOST_CASES:
        yield f"\nand {len(cases) - _MOST_CASES} more"
    yield "\n</details>"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *others = rows
    for row in (head, ["---"] * len(head), *others):
        yield f"| {' | '.join(cell if row[0] == '---' else markdown_text(cell) for cell in row)} |"


def write_summary(text: str, path: Path | None) -> None:
    """Write a summary where it was asked for, and add it to that of the step on GitHub's runners."""
    if path is not None:
        write_file("--markdown", path, text)
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        # Earlier commands of the step may have written there.
        write_file("GITHUB_STEP_SUMMARY", Path(step), text, how="a")


def write_file(flag: str, path: Path, text: str, *, how: Literal["w", "a"] = "w") -> None:
    """Write a file that `flag` names, and the folders that lead to it; raise `OperationError` where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(how, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OperationError(f"{flag}: {path} cannot be written: {error.strerror or error}") from error


def require_place_for_file(flag: str, file: Path) -> None:
    """Raise if a file can certainly not be written: an hour of measuring must not end with that."""
    try:
        if file.is_dir():
            raise FlagError(flag, f"{file} is a folder; name a file")
        folder = next(each for each in file.absolute().parents if each.exists())
    except OSError as error:  # a name that is too long
        raise FlagError(flag, f"{file} cannot be written: {error.strerror or error}; name another file") from None
    if not folder.is_dir():
        raise FlagError(flag, f"{file} cannot be written: {folder} is no folder; name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FlagError(flag, f"{file} cannot be written: no permission to write into {folder}; name another file")
