"""Shards: the blocks of a run, dealt out by their names alone to machines that do not know of each other."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

AUTO = "auto"
"""Selects the shard that the environment names."""

_WRITTEN = re.compile(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a run, counted from 1: `3/8`."""

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ValueError(f"there is no shard {self.number} of {self.count}; they are counted from 1")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that a text names; raise `ValueError` for what names none."""
        written = _WRITTEN.fullmatch(text)
        if written is None:
            raise ValueError(f"expected a shard as in 3/8, got {text!r}")
        return cls(*map(int, written.groups()))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, scenario_id: str, repetition: int) -> bool:
        """Return whether a block belongs to this shard.

        Its name alone decides: machines agree without asking each other, and a scenario, a mode or a repetition more
        moves no other block. Python's own hash of a text is another one in every process.
        """
        return _deal(scenario_id, repetition, self.count) == self.number

    def find_owner(self, scenario_id: str, repetition: int) -> "Shard":
        """Return to which shard of the same run a block belongs."""
        return Shard(_deal(scenario_id, repetition, self.count), self.count)


def _deal(scenario_id: str, repetition: int, count: int) -> int:
    name = f"{repetition}/{scenario_id}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8]) % count + 1


def _read_shard(value: object) -> object:
    return str(Shard.parse(value)) if isinstance(value, str) else value


ShardText = Annotated[str, BeforeValidator(_read_shard)]
"""A shard as it is written in settings and in `run.json`."""


def find_shard(text: str, environ: Mapping[str, str]) -> Shard:
    """Return the requested shard: `3/8`, or `auto` or `auto/8` for the one that the environment names.

    Raise `ValueError` if that is ambiguous: a wrong guess would measure some blocks twice, and others never.
    """
    word, _, count_text = text.strip().partition("/")
    if word.strip() != AUTO:
        return Shard.parse(text)
    if count_text and not count_text.strip().isdecimal():
        raise ValueError(f"expected auto, or auto/8 with the number of shards, got {text!r}")
    candidates = list(_detect(environ))
    if not candidates:
        raise ValueError(
            "auto: none of JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID and CI_NODE_INDEX is set here; name the shard, as "
            "in 3/8"
        )
    if len(candidates) > 1:
        names = " and ".join(each.variable for each in candidates)
        raise ValueError(f"auto: {names} are both set; name the shard, as in 3/8")
    job, count = candidates[0], int(count_text) if count_text else None
    if count is not None and job.count is not None and count != job.count:
        raise ValueError(
            f"auto/{count}: there are {job.count} jobs by {job.count_variable}; name the shard, as in 3/{count}"
        )
    total = job.count if count is None else count
    if total is None:
        raise ValueError(f"auto: {job.variable} does not tell how many shards there are; say it, as in auto/8")
    if not 1 <= job.number <= total:
        raise ValueError(
            f"auto: {job.variable} makes this shard {job.number} of {total}, and there is none; name it, as in 3/8"
        )
    return Shard(job.number, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DetectedShard:
    """The variables of a batch system: the number of the job, counted from 1, and the count of jobs, if it is set."""

    variable: str
    number: int
    count: int | None = None
    count_variable: str = ""


def _detect(environ: Mapping[str, str]) -> Iterator[_DetectedShard]:
    # Kubernetes: indexed jobs count from 0, and no variable has `completions`.
    if (index := _number("JOB_COMPLETION_INDEX", environ)) is not None:
        yield _DetectedShard(variable="JOB_COMPLETION_INDEX", number=index + 1)
    # Slurm: an array may begin anywhere and leave out some, as in --array=0-7, 1-8 and 10-80:10.
    if (task := _number("SLURM_ARRAY_TASK_ID", environ)) is not None:
        first, step = _number("SLURM_ARRAY_TASK_MIN", environ), _number("SLURM_ARRAY_TASK_STEP", environ) or 1
        last, count = _number("SLURM_ARRAY_TASK_MAX", environ), _number("SLURM_ARRAY_TASK_COUNT", environ)
        place, rest = divmod(task - (0 if first is None else first), step)
        # By the last task, all of an array with gaps refuse, and not only those that are behind one.
        if first is None or rest or (last is not None and count is not None and last - first != (count - 1) * step):
            raise ValueError("auto: the tasks of this Slurm array are not evenly numbered; name the shard, as in 3/8")
        yield _DetectedShard(
            variable="SLURM_ARRAY_TASK_ID", number=place + 1, count=count, count_variable="SLURM_ARRAY_TASK_COUNT"
        )
    # GitLab: jobs with `parallel` count from 1; CI_NODE_TOTAL alone is there for every job.
    if (node := _number("CI_NODE_INDEX", environ)) is not None:
        yield _DetectedShard(
            variable="CI_NODE_INDEX",
            number=node,
            count=_number("CI_NODE_TOTAL", environ),
            count_variable="CI_NODE_TOTAL",
        )


def _number(name: str, environ: Mapping[str, str]) -> int | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"auto: {name} is {text!r}, which is no number; name the shard, as in 3/8")
    return int(text)
