"""The capabilities by id, and the names of what they take, for whoever only needs to know that they exist.

Scenarios name capabilities long before one is called. This table lets a misspelling be found when the file is read,
without importing a single model.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ghx_bench.capabilities.announced import ANNOUNCED
from ghx_bench.capabilities.catalogue import ENTRIES
from ghx_bench.capabilities.entries import Signature

__all__ = ["CAPABILITY_IDS", "SIGNATURES", "Signature"]

SIGNATURES: Mapping[str, Signature] = MappingProxyType(
    {**ANNOUNCED, **{id_: entry.signature for id_, entry in ENTRIES.items()}}
)
"""What every capability takes, by id."""

CAPABILITY_IDS: tuple[str, ...] = tuple(sorted(SIGNATURES))
"""Every capability that a scenario may name."""
