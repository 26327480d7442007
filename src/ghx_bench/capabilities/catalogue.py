"""Every capability by id, with what it does and takes; reading this loads no model and no client.

A domain lists its capabilities in `domains/DOMAIN/index.py`, one `Entry` for each.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.announced import ANNOUNCED
from ghx_bench.capabilities.domains.issue.index import ENTRIES as ISSUE_ENTRIES
from ghx_bench.capabilities.domains.pr.index import ENTRIES as PR_ENTRIES
from ghx_bench.capabilities.domains.repo.index import ENTRIES as REPO_ENTRIES
from ghx_bench.capabilities.domains.search.index import ENTRIES as SEARCH_ENTRIES
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.errors import InvalidInputError

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {entry.id: entry for entry in sorted((*ISSUE_ENTRIES, *PR_ENTRIES, *REPO_ENTRIES, *SEARCH_ENTRIES))}
)
"""Every capability there is, by id."""

_LISTING = "`ghx capabilities list` lists what there is"


class UnknownCapabilityError(InvalidInputError):
    """A capability was named that does not exist, or not yet."""

    code = "UNKNOWN_CAPABILITY"

    def __init__(self, name: str) -> None:
        if name in ANNOUNCED:
            super().__init__(f"{name} is in the catalogue but cannot be called yet; {_LISTING}")
            return
        hint = did_you_mean(name, (*ENTRIES, *ANNOUNCED), otherwise=_LISTING)
        super().__init__(f"no capability {shortened(name)}; {hint}")


def entry(id_: str) -> Entry:
    """Return what is known of a capability without loading it; an unknown id is refused with the nearest one."""
    found = ENTRIES.get(id_)
    if found is None:
        raise UnknownCapabilityError(id_)
    return found
