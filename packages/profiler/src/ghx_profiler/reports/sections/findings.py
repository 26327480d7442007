"""Findings where modes differ: what analyzers found in sessions."""

from collections.abc import Sequence

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.session_findings import Findings
from ghx_profiler.reports.report_document import Element, Note, Paragraph, Section, Table


def section(material: Material) -> Section:
    """Show where the analyzers found modes to differ; those of a control agent only where there are no others."""
    findings = material.findings
    arms = material.arms_under_test or material.arms
    lines = tuple(findings.differing(arms))
    sessions = sum(findings.sessions[arm] for arm in arms)
    analyzed = plural(sessions, "analyzed session")
    if not sessions:
        text = f"No findings. {findings.gap or 'Every session that was analyzed is of a control agent.'}"
    elif not lines:
        text = f"In {analyzed} the modes differ in no finding by a tenth or more."
    else:
        text = (
            f"From {analyzed}: averages, or how often a word was found, where "
            "modes differ by a tenth or more. They describe these sessions; no test was made."
        )
    elements: list[Element] = [Paragraph(text)]
    elements += (
        Note(text)
        for text in (findings.gap, findings.origin, _describe_refused_hosts(findings, arms))
        if sessions and text
    )
    if lines:
        headers = ("finding", *map(str, arms))
        elements.append(Table(caption="Findings, the largest difference first", headers=headers, rows=lines))
    return Section(id="findings", title="Findings where modes differ", elements=tuple(elements))


def _describe_refused_hosts(findings: Findings, arms: Sequence[Arm]) -> str:
    """Return which hosts sessions asked for that they may not reach, also where the modes do not differ in it."""
    tallies = findings.tallies.get(("refused_hosts", "hosts"), {})
    hosts = [f"{arm}: {tallies[arm]}" for arm in arms if arm in tallies and set(tallies[arm].words) - {"none"}]
    return (
        f"Sessions asked for hosts that they may not reach, by mode and in how many: {'; '.join(hosts)}."
        if hosts
        else ""
    )
