"""What `ghx-bench expose` has found, as tables for a terminal and for a page."""

from collections.abc import Iterator

from ghx_base.problems import plural
from ghx_bench.toolsets.exposure.carriers import AUTHORS, Author
from ghx_bench.toolsets.exposure.measurement import Exposure, ModeExposure, ToolExposure
from ghx_bench.toolsets.exposure.sightings import STATES
from ghx_bench.toolsets.surface_tables import Table, escaped, markdown_of

_MOST_TOOLS = 3


def tables_of(exposure: Exposure) -> Iterator[Table]:
    """Yield the matrix of carriers and modes, and the proof that tools only read."""
    names = tuple(each.name for each in exposure.modes)
    yield Table(
        title="What reaches the agent: text of an outsider / of a maintainer, and through how many tools",
        header=("carrier", *names),
        rows=tuple((carrier, *(_cell(mode, carrier) for mode in exposure.modes)) for carrier in exposure.carriers),
    )
    yield Table(
        title="What tools tried to change, by the journal of requests",
        header=(
            "mode",
            "tools called",
            "calls",
            "read-only by their word",
            "of these wrote",
            "all that wrote",
            "not called",
        ),
        rows=tuple(map(_proof, exposure.modes)),
    )


def tools_of(exposure: Exposure) -> Iterator[Table]:
    """Yield for each mode the matrix of carriers and tools, as lists of tools."""
    for mode in exposure.modes:
        yield Table(
            title=f"{mode.name}: which tools show what",
            header=("carrier", *(f"by {_article(author)} {author}" for author in AUTHORS)),
            rows=tuple(
                (carrier, *(_tools(mode, carrier, author) for author in AUTHORS)) for carrier in exposure.carriers
            ),
        )


def lines_of(exposure: Exposure) -> Iterator[str]:
    """Yield what the tables do not say: proofs and broken promises, tools without an answer, and those not called."""
    for mode in exposure.modes:
        versions = ", ".join(f"{name} {version or 'of unknown version'}" for name, version in mode.versions.items())
        yield f"{mode.name}: {versions or 'no program and no server'}"
        yield f"{mode.name}: {_verdict(mode)}"
        for each in mode.broken_promises:
            times = plural(each.changing_requests, "changing request")
            yield f"{mode.name}: {each.tool} says that it only reads, and made {times}"
        failed = tuple(each for each in mode.tools if each.error is not None and not each.gaps)
        if writers := tuple(each for each in failed if each.says == "writes"):
            yield f"{mode.name}: of the tools that write, {_listed(writers)} gave no answer (--json says why)"
        yield from _tool_lines(mode)
        for reason, tools in mode.not_called_by_reason.items():
            yield f"{mode.name}: not called: {', '.join(tools)}: {reason}"


def _tool_lines(mode: ModeExposure) -> Iterator[str]:
    for each in mode.tools:
        if each.gaps:
            lacks = ", ".join(each.gaps)
            yield f"{mode.name}: {each.tool} is not measurable here in full: the embedded GitHub has no {lacks}"
            continue
        if each.says == "writes":
            continue
        if each.error is not None:
            yield f"{mode.name}: {each.tool} gave no answer in {plural(each.calls, 'call')}: {each.error}"
        elif not each.asked_github:
            yield f"{mode.name}: {each.tool} asked GitHub for nothing in {plural(each.calls, 'call')}"
        if each.left_out:
            yield f"{mode.name}: {each.tool} was not called in {plural(each.left_out, 'further way')}"


def as_markdown(exposure: Exposure) -> str:
    """Return everything as Markdown."""
    parts = [markdown_of(each) for each in (*tables_of(exposure), *tools_of(exposure))]
    return "\n\n".join([*parts, "\n".join(f"- {escaped(each)}" for each in lines_of(exposure))]) + "\n"


def _cell(mode: ModeExposure, carrier: str) -> str:
    outsider, maintainer = (_count(mode, carrier, author) for author in AUTHORS)
    return outsider if outsider == maintainer else f"{outsider} / {maintainer}"


def _count(mode: ModeExposure, carrier: str, author: Author) -> str:
    state = mode.state(carrier, author)
    return "-" if state == "not shown" else f"{state} {len(mode.tools_with(state, carrier, author))}"


def _tools(mode: ModeExposure, carrier: str, author: Author) -> str:
    by_state = {state: mode.tools_with(state, carrier, author) for state in reversed(STATES) if state != "not shown"}
    parts = [f"{state}: {', '.join(tools)}" for state, tools in by_state.items() if tools]
    return "; ".join(parts) or "-"


def _proof(mode: ModeExposure) -> tuple[str, ...]:
    return (
        mode.name,
        str(len(mode.tools)),
        str(sum(each.calls for each in mode.tools)),
        str(sum(each.says == "reads" for each in mode.tools)),
        str(len(mode.broken_promises)),
        str(len(mode.changing)),
        str(len(mode.not_called)),
    )


def _verdict(mode: ModeExposure) -> str:
    if not mode.changing:
        if not mode.calls_to_github:
            return f"whether it only reads is not known: {mode.why_unknown}"
        calls = plural(mode.calls_to_github, "call")
        return f"read-only, as far as it was tried: 0 changing requests in {calls} that asked GitHub for anything"
    if not mode.broken_promises:
        first = _listed(mode.changing)
        return f"{plural(len(mode.changing), 'tool')} tried to change something, none that says it only reads: {first}"
    return f"NOT read-only where it says so: {_listed(mode.broken_promises)}"


def _listed(tools: tuple[ToolExposure, ...]) -> str:
    names = [each.tool for each in tools]
    more = f" and {len(names) - _MOST_TOOLS} more" if len(names) > _MOST_TOOLS else ""
    return f"{', '.join(names[:_MOST_TOOLS])}{more}"


def _article(author: Author) -> str:
    return "an" if author == "outsider" else "a"
