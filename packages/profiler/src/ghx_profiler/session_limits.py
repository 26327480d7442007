"""What one session may use of the machine, and whether it has used more."""

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from ghx_base.documents.section import AtLeastOne, Section
from ghx_profiler.records.causes import AgentError, Cause

Resource = Literal["memory", "processes", "threads", "output", "disk", "connections"]

MIB = 1 << 20


class SessionLimits(Section):
    """Limits of all programs of one session together; a session that uses more is ended, and the others continue."""

    memory_mib: AtLeastOne | None = Field(default=4096, description="Memory, in MiB; null is as much as there is.")
    processes: AtLeastOne | None = Field(default=512, description="Processes at one time; null is any number.")
    threads: AtLeastOne | None = Field(
        default=4096, description="Threads of all processes at one time; null is any number."
    )
    output_mib: AtLeastOne | None = Field(
        default=256, description="What programs write to their standard output and error, in MiB; null is any amount."
    )
    disk_mib: AtLeastOne | None = Field(
        default=2048,
        description="What is written to the session's own folders (workspace, HOME, TMPDIR), in MiB, at least 4 KiB "
        "for each file; null is any amount.",
    )
    connections: AtLeastOne | None = Field(default=256, description="Open sockets at one time; null is any number.")

    def of(self, resource: Resource) -> int | None:
        """Return how much of a resource there is, in bytes or pieces; `None` for any amount."""
        match resource:
            case "memory":
                return None if self.memory_mib is None else self.memory_mib * MIB
            case "output":
                return None if self.output_mib is None else self.output_mib * MIB
            case "disk":
                return None if self.disk_mib is None else self.disk_mib * MIB
            case "processes":
                return self.processes
            case "threads":
                return self.threads
            case "connections":
                return self.connections


class LimitBrokenError(AgentError):
    """The programs of a session used more than they may, and were ended."""

    code: ClassVar[str] = "LIMIT_BROKEN"
    cause: Cause = Cause.AGENT_LIMIT


@dataclass(slots=True, kw_only=True, eq=False)
class Allowance:
    """What one session has used of its limits; every program that is started for it is counted here."""

    limits: SessionLimits
    folders: tuple[Path, ...] = ()
    """Where its files are."""
    broken: LimitBrokenError | None = None
    """Which limit it broke first, if it broke one."""
    output: int = 0
    """The bytes that its programs wrote."""
    disk_before: int | None = None
    """The bytes in its folders before its first program started; `None` before that."""
    unseen: Exception | None = None
    """What kept its use from being looked at, the first time, if anything did."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_output(self, count: int) -> None:
        """Count what a program wrote; from any thread."""
        with self._lock:
            self.output += count

    def exceeds(self, resource: Resource, used: int) -> bool:
        """Return whether this is more of a resource than the session may use."""
        limit = self.limits.of(resource)
        return limit is not None and used > limit

    def break_limit(self, resource: Resource, used: int) -> None:
        """Take note that the session used this much of a resource, which is more than it may."""
        with self._lock:
            if self.broken is None:
                self.broken = LimitBrokenError(self._describe(resource, used))

    def _describe(self, resource: Resource, used: int) -> str:
        limit = self.limits.of(resource) or 0
        match resource:
            case "memory" | "output" | "disk":
                return f"{-(-used // MIB):,} MiB of {resource}, where {limit // MIB:,} MiB are the limit"
            case "processes" | "threads" | "connections":
                return f"{used:,} {resource}, where {limit:,} are the limit"


ALLOWANCE: ContextVar[Allowance | None] = ContextVar("ALLOWANCE", default=None)
"""That of the session in whose scope this is; `None` outside of sessions."""
