"""The base of every record."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of one table; `id` is its primary key and, where GitHub shows one, its database id."""

    table: ClassVar[str]
    unique: ClassVar[tuple[tuple[str, ...], ...]] = ()  # columns that together occur once
    indexed: ClassVar[tuple[tuple[str, ...], ...]] = ()
    listed: ClassVar[tuple[tuple[str, ...], ...]] = ()  # indexes with the order of long lists, for any version's files
    caseless: ClassVar[tuple[str, ...]] = ()  # columns whose case does not tell values apart

    id: int
