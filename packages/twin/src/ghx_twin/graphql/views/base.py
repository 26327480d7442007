"""The base of every GraphQL type: a record, or another subject, as GraphQL shows it."""

from typing import Any, ClassVar, Generic, TypeVar

from ghx_twin.graphql.context import Context
from ghx_twin.state.records import Record

SubjectT = TypeVar("SubjectT")
RecordT = TypeVar("RecordT", bound=Record)


class View(Generic[SubjectT]):
    """One GraphQL type over one subject.

    A field `createdAt` is answered by the method `created_at` (its arguments by name), or where the class has none by
    the field of that name of one of its `sources`: attributes of the view that hold records, with their classes.
    A field that gives a connection returns a sequence of subjects; paging is the schema's business.
    """

    typename: ClassVar[str]
    sources: ClassVar[dict[str, type[Any]]] = {}
    __slots__ = ("context", "subject")

    def __init__(self, context: Context, subject: SubjectT) -> None:
        self.context, self.subject = context, subject


class RecordView(View[RecordT], Generic[RecordT]):
    """A GraphQL type over a record, with its global and database ids."""

    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return self.context.node_id(self.subject)

    def database_id(self) -> int:
        """Return the id REST uses."""
        return self.subject.id

    def full_database_id(self) -> str:
        """Return the id REST uses, which may outgrow a GraphQL integer."""
        return str(self.subject.id)


class Linked:
    """A mixin for what has a page: subclasses say its path, the address follows from the host that was asked."""

    __slots__ = ()
    context: Context

    def resource_path(self) -> str:
        """Return the path of the page."""
        raise NotImplementedError

    def url(self) -> str:
        """Return the address of the page."""
        return self.context.base.html + self.resource_path()
