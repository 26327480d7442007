"""What the statistics refuse to compute.

```
InputError
├── BadSampleError             a value that is not a number, an impossible count
├── BadPairError               a mode compared with itself
└── TooFewRepetitionsError     pass@k or pass^k with fewer repetitions than k
```
"""

from typing import ClassVar

from ghx_base.errors import InputError


class BadSampleError(InputError):
    """The numbers handed in cannot be a sample: NaN, infinity, a negative count, an unknown option."""

    code: ClassVar[str] = "BAD_SAMPLE"


class BadPairError(InputError):
    """A mode was compared with itself."""

    code: ClassVar[str] = "BAD_PAIR"


class TooFewRepetitionsError(InputError):
    """pass@k and pass^k need at least k repetitions of every scenario."""

    code: ClassVar[str] = "TOO_FEW_REPETITIONS"
