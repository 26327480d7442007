"""One point of the matrix, its name on disk, and the order in which the points are run."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import quote

from ghx_profiler.errors import BadMatrixError
from ghx_profiler.plan.shards import Shard

NO_MODEL = "none"
"""The model of agents that have none."""

Order = Literal["interleaved", "sequential"]

_MODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:@[A-Za-z0-9._~/+-]{1,128})?")
_LONGEST_FOLDER_NAME = 200
_MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison: a mode, of one agent with one model, in one run.

    `None` means that it is not distinguished: only one exists, or all are pooled. Without a mode it is a whole run.
    """

    mode: str
    agent: str | None = None
    model: str | None = None
    run: str | None = None
    model_label: str | None = field(default=None, compare=False)
    """What people call the model; its id unless given."""

    def __str__(self) -> str:
        factors = " / ".join(
            part for part in (self.agent, self.model and (self.model_label or self.model), self.mode) if part
        )
        return f"{factors} @ {self.run}" if factors and self.run else factors or self.run or ""


def order_arms(
    arms: Iterable[Arm],
    *,
    agents: Sequence[str] = (),
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
    runs: Sequence[str] = (),
) -> tuple[Arm, ...]:
    """Return the arms agent by agent, model by model, mode by mode, run by run, each in the order that is given.

    `None` comes first. Unlisted names follow listed ones: `baseline` first, then alphabetically.
    """
    factors = agents, models, modes, runs

    def position(arm: Arm) -> list[tuple[int, bool, str]]:
        names = (arm.agent or "", arm.model or "", arm.mode, arm.run or "")
        return [
            (listed.index(name) if name in listed else len(listed) if name else -1, name != "baseline", name)
            for listed, name in zip(factors, names, strict=True)
        ]

    return tuple(sorted(arms, key=position))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One (agent, model, mode, scenario, repetition); `is_canary` marks a warm-up whose result is thrown away."""

    agent: str
    model: str
    mode: str
    scenario_id: str
    iteration: int
    is_canary: bool = False

    @property
    def arm(self) -> Arm:
        """The side of a comparison that this cell belongs to."""
        return Arm(agent=self.agent, model=self.model, mode=self.mode)

    @property
    def path(self) -> PurePosixPath:
        """Where the files of this cell lie below `sessions/` and `analysis/`, without suffix."""
        return PurePosixPath(encode_name(self.agent), self.path_without_agent)

    @property
    def path_without_agent(self) -> PurePosixPath:
        """Where they lie in runs of version 0.1.0, which had one agent and no folder for it."""
        names = (self.model, self.mode, self.scenario_id)
        return PurePosixPath(*map(encode_name, names), str(self.iteration))

    def __str__(self) -> str:
        return f"{self.agent} / {self.model} / {self.mode} / {self.scenario_id} / {self.iteration}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Every cell of a run: agents x models x modes x scenarios x repetitions, in a reproducible order.

    Of a shard, those of its blocks, each at the place that it has in the order of the whole run.
    """

    agents: tuple[str, ...] = ("agent",)
    models: tuple[str, ...]
    modes: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    repetitions: int
    order: Order = "interleaved"
    seed: int = 0
    shard: Shard | None = None

    def __post_init__(self) -> None:
        if self.repetitions < 1:
            raise BadMatrixError(f"repetitions must be at least 1, got {self.repetitions}")
        # Of all shards together: merged, they are one run.
        if (total := len(self.arms) * len(self.scenario_ids) * self.repetitions) > _MOST_CELLS:
            raise BadMatrixError(
                f"{total:,} cells are more than a run can hold ({_MOST_CELLS:,}); ask for fewer repetitions"
            )
        check_names("agent", self.agents)
        check_names("model", self.models)
        check_mode_names(self.modes)
        check_names("scenario", self.scenario_ids)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every (agent, model, mode)."""
        factors = product(self.agents, self.models, self.modes)
        return tuple(Arm(agent=agent, model=model, mode=mode) for agent, model, mode in factors)

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.arms) * sum(count_repetitions(each, self.repetitions, self.shard) for each in self.scenario_ids)

    def __len__(self) -> int:
        return self.total

    def cells(self) -> Iterator[Cell]:
        """Yield every cell once, in the order they are to be started."""
        return (cell for _, cell in self.placed())

    def placed(self) -> Iterator[tuple[int, Cell]]:
        """Yield every cell with its place in the order of the whole run, in that order.

        Interleaved: block after block, a block holding every arm once, shuffled, for one scenario and repetition, so
        that a model service that drifts hits all arms alike. Sequential: agent after agent, mode after mode.
        """
        blocks = list(enumerate(product(range(self.repetitions), self.scenario_ids)))
        total = len(blocks)
        if self.shard is not None:
            # Before anything is shuffled: a shard of a million cells need not order those of all others.
            blocks = [block for block in blocks if self.shard.has(block[1][1], block[1][0])]
        if self.order == "sequential":
            for number, (agent, mode) in enumerate(product(self.agents, self.modes)):
                for block, (repetition, scenario_id) in blocks:
                    first = (number * total + block) * len(self.models)
                    for place, model in enumerate(self.models, start=first):
                        yield place, _place(Arm(agent=agent, model=model, mode=mode), scenario_id, repetition)
            return
        arms = self.arms
        for block, (repetition, scenario_id) in blocks:
            # Seeded by the block's own name: adding a scenario does not reorder the others, and a run that is
            # resumed, or split over machines, has the order it would have had in one piece.
            shuffler = random.Random(f"{self.seed}/{repetition}/{scenario_id}")  # noqa: S311 - an order, not a secret
            for place, arm in enumerate(shuffler.sample(arms, k=len(arms)), start=block * len(arms)):
                yield place, _place(arm, scenario_id, repetition)


def count_repetitions(scenario_id: str, repetitions: int, shard: Shard | None) -> int:
    """Return how many of its repetitions a scenario has in a shard; all of them without one."""
    if shard is None:
        return repetitions
    return sum(shard.has(scenario_id, repetition) for repetition in range(repetitions))


def _place(arm: Arm, scenario_id: str, repetition: int) -> Cell:
    agent, model = arm.agent or "", arm.model or ""
    return Cell(agent=agent, model=model, mode=arm.mode, scenario_id=scenario_id, iteration=repetition)


def encode_name(name: str) -> str:
    """Return the folder that stands for a name: percent-encoded, so that no two names share one and none leads out."""
    encoded = quote(name, safe="")
    # Unreserved characters stay as they are, and among them the dot: ".." would be the folder above.
    if encoded.startswith("."):
        return "%2E" + encoded[1:]
    # Third-party rows may have empty names; a path that lost one of its folders would be that of another cell.
    return encoded or "%"


def check_names(kind: str, names: Sequence[str]) -> None:
    """Refuse names that are missing, given twice, or cannot be encoded as those of folders."""
    _check_distinct(kind, names)
    for name in names:
        try:
            encoded = encode_name(name)
        except UnicodeEncodeError:
            raise BadMatrixError(f"{kind} {name!r} cannot name a folder: it is not text") from None
        if not name or len(encoded) > _LONGEST_FOLDER_NAME:
            raise BadMatrixError(f"{kind} {name!r} cannot name a folder: it is empty or too long")


def check_mode_names(names: Sequence[str]) -> None:
    """Refuse modes whose names are missing, given twice, or would need quotes where people type them."""
    _check_distinct("mode", names)
    for name in names:
        if not _MODE_NAME.fullmatch(name):
            raise BadMatrixError(
                f"mode {name!r} cannot name a file: use up to 128 letters, digits, '.', '_' and '-', "
                "beginning with a letter or digit, and after an '@' a version or a path"
            )


def _check_distinct(kind: str, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        # macOS and Windows file systems are not case-sensitive, and cells name files.
        first = seen.get(name.casefold())
        if first == name:
            raise BadMatrixError(f"{kind} {name!r} is given twice; name it once")
        if first is not None:
            raise BadMatrixError(f"{kind}s {first!r} and {name!r} differ only in case; rename one")
        seen[name.casefold()] = name
    if not seen:
        raise BadMatrixError(f"no {kind} to run; name at least one")
