"""Numbers the way numpy wants them: finite ones, and random ones that depend on what is computed, never on when."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ghx_profiler.stats.errors import BadSampleError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Values = Sequence[float] | FloatArray


def as_floats(values: Values) -> FloatArray:
    """Return the values as one row of floats; refuse what is not a finite number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise BadSampleError(f"a sample is one row of numbers, got {array.ndim} dimensions")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise BadSampleError(f"a sample holds finite numbers only, value {int(wrong[0])} is {array[wrong[0]]}")
    return array


def finite_or_none(value: float) -> float | None:
    """Return the value for a record: `None` if it is missing or unbounded."""
    return float(value) if np.isfinite(value) else None


def stable_hash(*names: str) -> int:
    """Return the same 64 bits for the same names in every process, unlike `hash()`."""
    # Lengths distinguish ("ab", "c") from ("a", "bc").
    text = "".join(f"{len(name)}:{name}" for name in names)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the stream of random numbers that belongs to these names in this run."""
    return np.random.default_rng(np.random.SeedSequence([abs(seed), stable_hash(*names)]))
