"""Findings where modes differ: what analyzers found in sessions."""

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.data.material import Material
from ghx_bench.profiler.reports.report_document import Element, Note, Paragraph, Section, Table


def section(material: Material) -> Section:
    """Show where the analyzers found modes to differ."""
    found = material.findings
    lines = tuple(found.differing(material.arms))
    analyzed = plural(found.sessions.total(), "analyzed session")
    if not found.sessions:
        text = f"No findings. {found.gap}"
    elif not lines:
        text = f"In {analyzed} the modes differ in no finding by a tenth or more."
    else:
        text = (
            f"From {analyzed}: averages, or how often a word was found, where "
            "modes differ by a tenth or more. They describe these sessions; no test was made."
        )
    elements: list[Element] = [Paragraph(text)]
    elements += (Note(text) for text in (found.gap, found.origin) if found.sessions and text)
    if lines:
        elements.append(
            Table(
                caption="Findings, the largest difference first", headers=("finding", *material.arm_names), rows=lines
            )
        )
    return Section(id="findings", title="Findings where modes differ", elements=tuple(elements))
