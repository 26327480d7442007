"""One point of the matrix, its name on disk, and the order in which the points are run."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import quote

from ghx_bench.profiler.errors import BadMatrixError

NO_MODEL = "none"
"""The model of agents that have none."""

Order = Literal["interleaved", "sequential"]

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LONGEST_FILE_NAME = 200
_MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One (model, mode, scenario, repetition); `is_canary` marks a warm-up whose result is thrown away."""

    model: str
    mode: str
    scenario_id: str
    iteration: int
    is_canary: bool = False

    @property
    def path(self) -> PurePosixPath:
        """Where the files of this cell lie below `sessions/` and `analysis/`, without suffix."""
        return PurePosixPath(_encode_model(self.model), self.mode, self.scenario_id, str(self.iteration))

    def __str__(self) -> str:
        return f"{self.model} / {self.mode} / {self.scenario_id} / {self.iteration}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison: a mode, of one agent with one model, in one run.

    `None` means pooled: over all agents, over all models, or where only one run is looked at.
    """

    mode: str
    agent: str | None = None
    model: str | None = None
    run: str | None = None

    def __str__(self) -> str:
        factors = " / ".join(part for part in (self.agent, self.model, self.mode) if part)
        return f"{factors} @ {self.run}" if self.run else factors


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Every cell of a run: models x modes x scenarios x repetitions, in a reproducible order."""

    models: tuple[str, ...]
    modes: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    repetitions: int
    order: Order = "interleaved"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repetitions < 1:
            raise BadMatrixError(f"repetitions must be at least 1, got {self.repetitions}")
        if self.total > _MOST_CELLS:
            raise BadMatrixError(
                f"{self.total:,} cells are more than a run can hold ({_MOST_CELLS:,}); ask for fewer repetitions"
            )
        check_names("mode", self.modes)
        check_names("scenario", self.scenario_ids)
        _check_distinct("model", self.models)
        for model in self.models:
            _check_model(model)

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.models) * len(self.modes) * len(self.scenario_ids) * self.repetitions

    def __len__(self) -> int:
        return self.total

    def cells(self) -> Iterator[Cell]:
        """Yield every cell once, in the order they are to be started.

        Interleaved: block after block, a block holding every mode once, shuffled, for one scenario, model and
        repetition, so that a model service that drifts hits all modes alike. Sequential: mode after mode.
        """
        blocks = [
            (repetition, scenario_id, model)
            for repetition in range(self.repetitions)
            for scenario_id in self.scenario_ids
            for model in self.models
        ]
        if self.order == "sequential":
            yield from (_cell(block, mode) for mode in self.modes for block in blocks)
        else:
            yield from (_cell(block, mode) for block in blocks for mode in self._shuffled_modes(block))

    def _shuffled_modes(self, block: tuple[int, str, str]) -> Sequence[str]:
        # Seeded by the block's own name: adding a scenario does not reorder the others.
        shuffler = random.Random(f"{self.seed}/{'/'.join(map(str, block))}")  # noqa: S311 - an order, not a secret
        return shuffler.sample(self.modes, k=len(self.modes))


def _cell(block: tuple[int, str, str], mode: str) -> Cell:
    repetition, scenario_id, model = block
    return Cell(model=model, mode=mode, scenario_id=scenario_id, iteration=repetition)


def _encode_model(model: str) -> str:
    encoded = quote(model, safe="")
    return "%2E" + encoded[1:] if encoded.startswith(".") else encoded


def check_names(kind: str, names: Sequence[str]) -> None:
    """Refuse names that are missing, given twice, or cannot be those of files."""
    _check_distinct(kind, names)
    _check_file_names(kind, names)


def _check_distinct(kind: str, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        # macOS and Windows file systems do not tell "A" from "a", and cells name files.
        first = seen.get(name.casefold())
        if first == name:
            raise BadMatrixError(f"{kind} {name!r} is given twice; name it once")
        if first is not None:
            raise BadMatrixError(f"{kind}s {first!r} and {name!r} differ only in case; rename one")
        seen[name.casefold()] = name
    if not seen:
        raise BadMatrixError(f"no {kind} to run; name at least one")


def _check_file_names(kind: str, names: Iterable[str]) -> None:
    for name in names:
        if not _FILE_NAME.fullmatch(name):
            raise BadMatrixError(
                f"{kind} {name!r} cannot name a file: use up to 128 letters, digits, '.', '_' and '-', "
                "beginning with a letter or digit"
            )


def _check_model(model: str) -> None:
    try:
        encoded = _encode_model(model)
    except UnicodeEncodeError:
        raise BadMatrixError(f"model {model!r} cannot name a folder: it is not text") from None
    if not 0 < len(encoded) <= _LONGEST_FILE_NAME:
        raise BadMatrixError(f"model {model!r} cannot name a folder: it is empty or too long")
