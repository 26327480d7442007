"""Reactions, and a mixin for what can be reacted to."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.graphql.connections import Connection, Edge
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import ReactionsSubject
from ghx_twin.graphql.views.base import RecordView, View
from ghx_twin.state import records
from ghx_twin.state.records import Reaction, Record, User

# GitHub's order; on the right the names REST uses
CONTENTS = {
    "THUMBS_UP": "+1",
    "THUMBS_DOWN": "-1",
    "LAUGH": "laugh",
    "HOORAY": "hooray",
    "CONFUSED": "confused",
    "HEART": "heart",
    "ROCKET": "rocket",
    "EYES": "eyes",
}
_NAMES = {rest: name for name, rest in CONTENTS.items()}
_SUBJECTS: dict[str, type[Record]] = {
    model.table: model for model in (records.Issue, records.Comment, records.Review, records.ReviewComment)
}


class Reacted(Sequence[User]):
    """Who reacted, with their reactions next to them."""

    def __init__(self, context: Context, reactions: list[Reaction]) -> None:
        self.reactions = reactions
        self._users: list[Any] = [context.user(one.user_id) for one in reactions]

    def __len__(self) -> int:
        return len(self._users)

    def __getitem__(self, index: Any) -> Any:
        return self._users[index]


class ReactedEdge(Edge):
    """A reactor, and when they reacted."""

    __slots__ = ("_at",)

    def __init__(self, context: Context, subject: object, position: int, at: str) -> None:
        super().__init__(context, subject, position)
        self._at = at

    def reacted_at(self) -> str:
        """Return when."""
        return self._at


class ReactorConnection(Connection[Reacted]):
    """Who reacted."""

    __slots__ = ()

    def edges(self) -> list[Edge]:
        """Return each with the time of their reaction."""
        start, _ = self.bounds()
        return [
            ReactedEdge(self.context, user, start + n, self.items.reactions[start + n].created_at)
            for n, user in enumerate(self.page_items())
        ]


class ReactionConnection(Connection[Sequence[Reaction]]):
    """Reactions, and whether the viewer's is among them."""

    __slots__ = ()

    def viewer_has_reacted(self) -> bool:
        """Return whether the viewer reacted."""
        return any(one.user_id == self.context.viewer.id for one in self.items)


class ReactionView(RecordView[Reaction]):
    """One reaction."""

    typename: ClassVar[str] = "Reaction"
    sources: ClassVar = {"subject": Reaction}
    __slots__ = ()

    def content(self) -> str:
        """Return which emoji."""
        return _NAMES[self.subject.content]

    def user(self) -> Any:
        """Return whose it is."""
        user = self.context.user(self.subject.user_id)
        return self.context.view_of(user) if user and user.type == "User" else None

    def reactable(self) -> Any:
        """Return what it is under."""
        model = _SUBJECTS[self.subject.subject_kind]
        return self.context.view_of(self.context.database.get(model, self.subject.subject_id))


class ReactionGroupView(View[ReactionsSubject]):
    """The reactions of one kind under one thing."""

    typename: ClassVar[str] = "ReactionGroup"
    __slots__ = ()

    def content(self) -> str:
        """Return which emoji."""
        return self.subject.content

    def created_at(self) -> str | None:
        """Return when the first of them came."""
        return next((one.created_at for one in self._reactions()), None)

    def subject_(self) -> Any:
        """Return what they are under."""
        return self.context.view_of(self.subject.subject)

    def reactors(self) -> Reacted:
        """Return who reacted."""
        return Reacted(self.context, self._reactions())

    def users(self) -> Reacted:
        """Return who reacted."""
        return Reacted(self.context, self._reactions())

    def viewer_has_reacted(self) -> bool:
        """Return whether the viewer did."""
        return any(one.user_id == self.context.viewer.id for one in self._reactions())

    def _reactions(self) -> list[Reaction]:
        reactions = reactions_under(self.context, self.subject.subject)
        content = CONTENTS[self.subject.content]
        return [one for one in reactions if one.content == content] if reactions else reactions


class Reactable:
    """A mixin for what can be reacted to; `reacted` is the record the reactions are kept under."""

    __slots__ = ()
    context: Context

    @property
    def reacted(self) -> Record:
        """Return the record that reactions are under."""
        raise NotImplementedError

    def reaction_groups(self) -> list[ReactionGroupView]:
        """Return the reactions by kind; GitHub lists every kind, also those without a reaction."""
        return [ReactionGroupView(self.context, ReactionsSubject(self.reacted, content)) for content in CONTENTS]

    def reactions(self, content: str | None = None, order_by: dict[str, str] | None = None) -> list[Reaction]:
        """Return the reactions one by one."""
        reactions = reactions_under(self.context, self.reacted)
        reactions = [one for one in reactions if content is None or one.content == CONTENTS[content]]
        return reactions[::-1] if order_by and order_by["direction"] == "DESC" else reactions


def reactions_under(context: Context, subject: Record) -> list[Reaction]:
    """Return the reactions under a record, oldest first."""
    key = ("reactions", subject.table, subject.id)
    return context.once(key, lambda: context.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id))
