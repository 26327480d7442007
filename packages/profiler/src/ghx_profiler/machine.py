"""The machines that measure cells: what they are called, and what they are."""

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

import psutil
from pydantic import Field

from ghx_base.version import VERSION
from ghx_base.wire import Count, ForeignModel


class MachineRecord(ForeignModel):
    """What a machine is that measured cells; it stands in `run.json` under the name that rows have."""

    system: str
    release: str
    architecture: str
    processor: str | None = None
    """The name of the processor, if the system reports it."""
    processors: Count | None = None
    """How many the worker may use."""
    memory_bytes: Count | None = None
    versions: dict[str, str] = Field(default={})

    def __str__(self) -> str:
        count = "" if self.processors is None else f"{self.processors} x "
        memory = None if self.memory_bytes is None else f"{self.memory_bytes / (1 << 30):.1f} GiB"
        versions = (f"{_SPOKEN.get(name, name)} {value}" for name, value in sorted(self.versions.items()))
        parts = (f"{self.system} {self.release}", f"{count}{self.processor or self.architecture}", memory, *versions)
        return ", ".join(filter(None, parts))


_SPOKEN = {"ghxBench": "ghx-bench", "python": "Python"}


def name_machine() -> str:
    """Return what this machine is called on rows, unless an executor has a name for its worker."""
    return platform.node() or "unnamed"


def unique_name(name: str, machine: MachineRecord, known: Mapping[str, MachineRecord]) -> str:
    """Return what a machine is called among those that are known: another one of the same name gets a number.

    Containers and pods are often all called the same. Only where what they are differs are they known to be two.
    """
    # A shard that was resumed elsewhere brings names with numbers, which may be in use here.
    first = _NUMBERED.sub("", name)
    numbered = (f"{first} #{number}" for number in count(2))
    return next(each for each in chain((name, first), numbered) if known.get(each, machine) == machine)


_NUMBERED = re.compile(r" #[0-9]+$")


def describe_machine() -> MachineRecord:
    """Return what this machine is, as far as it can make a difference to what is measured on it."""
    return MachineRecord(
        system=platform.system(),
        release=platform.release(),
        architecture=platform.machine(),
        processor=_name_processor(),
        processors=_count_processors(),
        memory_bytes=psutil.virtual_memory().total,
        versions=versions_here(),
    ).with_all_keys()


def versions_here() -> dict[str, str]:
    """Name the versions that a result may depend on."""
    return {"ghxBench": VERSION, "python": platform.python_version()}


def _name_processor() -> str | None:
    # `platform.processor()` is empty on most Linux systems, or repeats the architecture.
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or None


def _count_processors() -> int | None:
    # Of many processors, a container or a batch system may let a job have a few.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()
