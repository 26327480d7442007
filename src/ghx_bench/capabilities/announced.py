"""Capabilities of the catalogue that cannot be called yet, so that naming one is no misspelling."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ghx_bench.capabilities.entries import Signature, signature_of

_TO_COME = """
project_v2.fields.list owner projectNumber [first] [after]
project_v2.items.field.update projectId itemId fieldId
    [valueText] [valueNumber] [valueDate] [valueSingleSelectOptionId] [valueIterationId] [clear]
project_v2.items.issue.add owner projectNumber issueUrl
project_v2.items.issue.remove owner projectNumber itemId
project_v2.items.list owner projectNumber [first] [after]
project_v2.org.view org projectNumber
project_v2.user.view user projectNumber

release.create owner name tagName [title] [notes] [targetCommitish] [prerelease]
release.list owner name [first] [after]
release.publish owner name releaseId [title] [notes] [prerelease]
release.update owner name releaseId [tagName] [title] [notes] [targetCommitish] [prerelease] [draft]
release.view owner name tagName

workflow.dispatch owner name workflowId ref [inputs]
workflow.job.logs.raw owner name jobId
workflow.job.logs.view owner name jobId
workflow.list owner name [first] [after]
workflow.run.artifacts.list owner name runId [first] [after]
workflow.run.cancel owner name runId
workflow.run.rerun.all owner name runId
workflow.run.rerun.failed owner name runId
workflow.run.view owner name runId
workflow.runs.list owner name [first] [after] [branch] [event] [status]
workflow.view owner name workflowId
"""


def _read(table: str) -> dict[str, Signature]:
    """Read a table of ids and inputs; what may be left out is in brackets, an indented line continues the one above."""
    lines = (line.split() for line in re.sub(r"\n +", " ", table).split("\n") if line)
    return {id_: signature_of(inputs) for id_, *inputs in lines}


ANNOUNCED: Mapping[str, Signature] = MappingProxyType(_read(_TO_COME))
"""What they will take, by id; a domain that can be called is taken out of here."""
