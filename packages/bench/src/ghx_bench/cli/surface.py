"""`ghx-bench surface`: what tool sets cost before they do anything, and what their answers cost, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ghx_base.commandline import FAILED
from ghx_base.errors import FlagError, InputError
from ghx_base.problems import plural
from ghx_bench.cli.flags import AsJson, PositiveNumber, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from collections.abc import Awaitable, Mapping, Sequence

    from ghx_bench.modes.resolver import Modes
    from ghx_bench.toolsets.surface import Measuring, Surface

_GATES = ("lint",)


def surface(
    *mode: Annotated[str, Parameter(name="MODE")],
    tools: list[Path] | None = None,
    questions: list[Path] | None = None,
    limit_tokens: PositiveNumber = 25_000,
    lint: Switch = False,
    brief: Switch = False,
    fail_on: list[str] | None = None,
    markdown: Path | None = None,
    config: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Measure what tool sets cost an agent: what it is told before the first call, and what it is answered.

    No model is asked, and nothing but a world in this process: the same tools give the same figures every time.

    Parameters
    ----------
    mode
        The modes to measure, as `ghx-bench list modes` names them.
    tools
        A file with the `tools/list` answer of an MCP server, to measure one that is not installed by its schema.
    questions
        A file with calls of your own modes for the table of questions, or with questions of your own.
    limit_tokens
        From how many tokens on an answer counts as too long for an agent.
    lint
        Only look at what is wrong with the tools of MCP servers; no question is asked.
    brief
        Print one table, without what was found in single answers and tools.
    fail_on
        End with 1 on `lint`: if something is wrong with the tools of a server.
    markdown
        Write the tables into a file, as Markdown.
    config
        The configuration that describes modes of your own; `eval.config.yaml` in the current folder unless given.
    as_json
        Print everything as JSON.
    """
    from ghx_bench.cli.verdicts.publication import require_place_for_file, say_gates, write_file
    from ghx_bench.project.gates import GateResult
    from ghx_bench.toolsets.questions import built_in_table, with_own_questions
    from ghx_bench.toolsets.sizes import open_ruler
    from ghx_bench.toolsets.surface import Measuring
    from ghx_bench.toolsets.surface_tables import as_markdown

    if not mode and not tools:
        raise InputError("name modes to measure, as in `ghx-bench surface baseline ghx-mcp`, or a file with --tools")
    if unknown := [each for each in fail_on or () if each not in _GATES]:
        raise FlagError("--fail-on", f"{unknown[0]!r} is no gate of this command; it has {', '.join(_GATES)}")
    if brief and (lint or as_json):
        raise FlagError("--brief", "prints one table of answers; leave out --lint and --json")
    if markdown is not None:
        require_place_for_file("--markdown", markdown)
    measuring = Measuring(
        table=with_own_questions(built_in_table(), questions or ()),
        ruler=open_ruler(),
        limit_tokens=limit_tokens,
        with_answers=not lint,
    )
    measured = _measure(tuple(dict.fromkeys(mode)), tools or [], config, measuring)
    print(measured.model_dump_json(indent=2) if as_json else _as_text(measured, only_lint=lint, brief=brief))
    if markdown is not None:
        write_file("--markdown", markdown, as_markdown(measured))
    complaints = [f"{each.name} has {plural(len(each.lint), 'finding')}" for each in measured.modes if each.lint]
    unlinted = [each.name for each in measured.modes if not each.tools]
    question = f"no MCP server of {', '.join(unlinted)} lists a tool to look at" if unlinted else None
    result = {"reason": ", ".join(complaints)} if complaints else {"open_question": question}
    gates = [GateResult(gate=gate, **result) for gate in dict.fromkeys(fail_on or ())]
    say_gates(gates)
    return FAILED if any(each.failed for each in gates) else 0


def _measure(names: tuple[str, ...], tools: list[Path], config: Path | None, measuring: Measuring) -> Surface:
    from ghx_bench.cli.measured_modes import run_with_modes
    from ghx_bench.toolsets.surface import measure_modes, measure_tool_file, summarize

    from_files = [measure_tool_file(path, measuring) for path in tools]
    if not names:
        return summarize(from_files, measuring)

    def measure(modes: Modes, lineages: Mapping[str, Sequence[str]]) -> Awaitable[Surface]:
        return measure_modes(names, modes, lineages, measuring)

    measured = run_with_modes(names, config, measure)
    return measured.model_copy(update={"modes": (*measured.modes, *from_files)})


def _as_text(measured: Surface, *, only_lint: bool, brief: bool) -> str:
    from ghx_base.extras import how_to_install
    from ghx_bench.cli.listing import in_columns
    from ghx_bench.toolsets.surface_tables import brief_table, lines_of, tables_of

    tables = [brief_table(measured)] if brief else tables_of(measured)
    parts = [f"{table.title}\n{in_columns(table.header, table.rows)}" for table in tables]
    notes = [] if brief else list(lines_of(measured, with_all=only_lint))
    if notes and measured.tokens_are_estimated:
        notes.append(f"to count tokens: {how_to_install('tokens')}")
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])
