"""Every capability by id, with its inputs and its effect; importing this loads no model and no client.

A domain lists its capabilities in `domains/DOMAIN/index.py`, one `Entry` for each. Scenarios name capabilities long
before one is called: with this table a misspelt name is found when the file is read.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from ghx_base.problems import did_you_mean, shortened
from ghx_tools.capabilities.domains.issue.index import ENTRIES as ISSUE_ENTRIES
from ghx_tools.capabilities.domains.pr.index import ENTRIES as PR_ENTRIES
from ghx_tools.capabilities.domains.project_v2.index import ENTRIES as PROJECT_ENTRIES
from ghx_tools.capabilities.domains.release.index import ENTRIES as RELEASE_ENTRIES
from ghx_tools.capabilities.domains.repo.index import ENTRIES as REPO_ENTRIES
from ghx_tools.capabilities.domains.search.index import ENTRIES as SEARCH_ENTRIES
from ghx_tools.capabilities.domains.workflow.index import ENTRIES as WORKFLOW_ENTRIES
from ghx_tools.capabilities.entries import Entry, Signature
from ghx_tools.capabilities.errors import InvalidInputError

_DOMAINS = (
    ISSUE_ENTRIES, PR_ENTRIES, PROJECT_ENTRIES, RELEASE_ENTRIES, REPO_ENTRIES, SEARCH_ENTRIES, WORKFLOW_ENTRIES,
)  # fmt: skip

ENTRIES: Mapping[str, Entry] = MappingProxyType({each.id: each for each in sorted(chain.from_iterable(_DOMAINS))})
"""Every capability that can be called, by id."""

SIGNATURES: Mapping[str, Signature] = MappingProxyType({id_: entry.signature for id_, entry in ENTRIES.items()})
"""The inputs of every capability, by id."""

CAPABILITY_IDS: tuple[str, ...] = tuple(ENTRIES)
"""The ids of all capabilities, sorted."""

_LISTING = "`ghx capabilities list` lists what there is"


class UnknownCapabilityError(InvalidInputError):
    """A capability was named that does not exist."""

    code = "UNKNOWN_CAPABILITY"

    def __init__(self, name: str) -> None:
        hint = did_you_mean(name, ENTRIES, otherwise=_LISTING)
        super().__init__(f"no capability {shortened(name)}; {hint}")


def get_entry(id_: str) -> Entry:
    """Return the entry of a capability without loading it; raise `UnknownCapabilityError` with the nearest id."""
    entry = ENTRIES.get(id_)
    if entry is None:
        raise UnknownCapabilityError(id_)
    return entry
