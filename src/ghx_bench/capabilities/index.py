"""Every capability by id, with its inputs and its effect; importing this loads no model and no client.

A domain lists its capabilities in `domains/DOMAIN/index.py`, one `Entry` for each. Scenarios name capabilities long
before one is called: with this table a misspelt name is found when the file is read.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.domains.issue.index import ENTRIES as ISSUE_ENTRIES
from ghx_bench.capabilities.domains.pr.index import ENTRIES as PR_ENTRIES
from ghx_bench.capabilities.domains.release.index import ENTRIES as RELEASE_ENTRIES
from ghx_bench.capabilities.domains.repo.index import ENTRIES as REPO_ENTRIES
from ghx_bench.capabilities.domains.search.index import ENTRIES as SEARCH_ENTRIES
from ghx_bench.capabilities.domains.workflow.index import ENTRIES as WORKFLOW_ENTRIES
from ghx_bench.capabilities.entries import Entry, Signature, parse_signature
from ghx_bench.capabilities.errors import InvalidInputError

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.id: entry
        for entry in sorted(
            (*ISSUE_ENTRIES, *PR_ENTRIES, *RELEASE_ENTRIES, *REPO_ENTRIES, *SEARCH_ENTRIES, *WORKFLOW_ENTRIES)
        )
    }
)
"""Every capability that can be called, by id."""

# Scenarios may name these before they can be called, so naming one is no misspelling. An indented line continues the
# line above it; what may be left out is in brackets, as in `Entry.inputs`.
_PLANNED = """
project_v2.fields.list owner projectNumber [first] [after]
project_v2.items.field.update projectId itemId fieldId
    [valueText] [valueNumber] [valueDate] [valueSingleSelectOptionId] [valueIterationId] [clear]
project_v2.items.issue.add owner projectNumber issueUrl
project_v2.items.issue.remove owner projectNumber itemId
project_v2.items.list owner projectNumber [first] [after]
project_v2.org.view org projectNumber
project_v2.user.view user projectNumber

"""

PLANNED: Mapping[str, Signature] = MappingProxyType(
    {
        id_: parse_signature(inputs)
        for id_, *inputs in (line.split() for line in re.sub(r"\n +", " ", _PLANNED).split("\n") if line)
    }
)
"""The inputs of capabilities that cannot be called yet, by id; a domain that is added moves out of here."""

SIGNATURES: Mapping[str, Signature] = MappingProxyType(
    {**PLANNED, **{id_: entry.signature for id_, entry in ENTRIES.items()}}
)
"""The inputs of every capability that a scenario may name, by id."""

CAPABILITY_IDS: tuple[str, ...] = tuple(sorted(SIGNATURES))
"""Every capability that a scenario may name."""

_LISTING = "`ghx capabilities list` lists what there is"


class UnknownCapabilityError(InvalidInputError):
    """A capability was named that does not exist, or not yet."""

    code = "UNKNOWN_CAPABILITY"

    def __init__(self, name: str) -> None:
        if name in PLANNED:
            super().__init__(f"{name} is in the catalogue but cannot be called yet; {_LISTING}")
            return
        hint = did_you_mean(name, (*ENTRIES, *PLANNED), otherwise=_LISTING)
        super().__init__(f"no capability {shortened(name)}; {hint}")


def get_entry(id_: str) -> Entry:
    """Return the entry of a capability without loading it; raise `UnknownCapabilityError` with the nearest id."""
    entry = ENTRIES.get(id_)
    if entry is None:
        raise UnknownCapabilityError(id_)
    return entry
