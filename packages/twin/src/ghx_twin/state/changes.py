"""What a world remembers of a change, and who is behind it: a user, GitHub itself, or the maker of the world."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ghx_twin.state.columns import Cell
from ghx_twin.state.records import (
    Annotation,
    CheckRun,
    Deployment,
    DeploymentStatus,
    RunAttempt,
    Step,
    WorkflowRun,
)

COLUMNS = 'at, actor_id, cause_id, "table", object_id, field, "before", "after"'


@dataclass(frozen=True, slots=True)
class Change:
    """One field that one actor changed; a whole record where `field` is None."""

    seq: int
    at: str
    actor_id: int | None
    cause_id: int | None
    table: str
    object_id: int
    field: str | None
    before: Cell
    after: Cell

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "Change":
        """Return a change that was read as `seq` and `COLUMNS`."""
        return cls(*row)


class UnattributedChangeError(RuntimeError):
    """A change without an author: a defect of the emulator, since nobody could be held responsible for it."""


class AutomaticEvent(Enum):
    """What GitHub does without a user. All other changes in a sealed world have a user as their author.

    The value has the records that such an event writes. Anything else that it causes needs an author: a merge by
    auto-merge, for example, has the user who enabled it.
    """

    RUN_START = (WorkflowRun, RunAttempt, CheckRun)
    """A push or a pull request starts the workflows that ask for it."""
    JOB_PROGRESS = (CheckRun, Step, Annotation, RunAttempt, Deployment, DeploymentStatus)
    """A job of a scripted run waits, begins, goes on or ends, by the clock of the world."""

    @property
    def tables(self) -> frozenset[str]:
        """Return the only tables that the event may write."""
        return frozenset(model.table for model in self.value)


@dataclass(frozen=True, slots=True)
class Author:
    """Who is behind the changes of a transaction."""

    actor_id: int | None
    """The user whom GitHub names; None for an automatic event, and for the maker of the world."""
    cause_id: int | None = None
    """The user whose request or run set the change off, where that is not the actor."""
    event: AutomaticEvent | None = None
    tables: frozenset[str] | None = None
    """The only tables that may be written; None where all may be."""

    @classmethod
    def of(cls, who: int | AutomaticEvent | None, *, cause_id: int | None = None) -> "Author":
        """Return a user (by id), an event or the maker of the world (None) as an author."""
        if isinstance(who, AutomaticEvent):
            return cls(None, cause_id, who, who.tables)
        return cls(who, None if cause_id == who else cause_id)

    def hand_over(self, who: int | AutomaticEvent) -> "Author":
        """Return another author, whose changes this one has set off."""
        return Author.of(who, cause_id=self.actor_id if self.cause_id is None else self.cause_id)

    def require(self, table: str) -> None:
        """Refuse a change that the author may not make."""
        if self.tables is not None and table not in self.tables:
            name = "nobody" if self.event is None else self.event.name
            raise UnattributedChangeError(f"{name} changed {table}: name the user who is the author of that change")
