"""Modes known beforehand."""

from collections.abc import Sequence

from ghx_bench.profiler.cell import check_names
from ghx_bench.profiler.errors import UnknownNameError
from ghx_bench.profiler.evidence import Mode


class ModeTable:
    """A `ModeResolver` over a fixed list of modes."""

    def __init__(self, modes: Sequence[Mode]) -> None:
        check_names("mode", [mode.name for mode in modes])
        self._modes = {mode.name: mode for mode in modes}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(self._modes)

    async def resolve(self, name: str) -> Mode:
        """Return the mode of that name."""
        mode = self._modes.get(name)
        if mode is None:
            raise UnknownNameError("mode", name, known=self._modes)
        return mode
