"""The mark of an argument that was not given, where None means "clear it"."""

from enum import Enum


class Unset(Enum):
    """Holds the one value `UNSET`; compare with `is`."""

    UNSET = "unset"


UNSET = Unset.UNSET
