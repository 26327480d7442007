"""What an issue search may ask about one issue, each looked up once per search."""

from collections.abc import Callable
from functools import cached_property

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.references import closing_references, mentions
from ghx_bench.twin.queries.reviews import submitted_reviews
from ghx_bench.twin.queries.search.matching import words_of
from ghx_bench.twin.state.columns import RecordT
from ghx_bench.twin.state.records import (
    Assignee,
    Comment,
    Issue,
    Label,
    Milestone,
    Pull,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    TeamMember,
    User,
)
from ghx_bench.twin.world import World


class Facts:
    """One issue and everything around it that a query can name."""

    def __init__(self, world: World, issue: Issue, repository: Repository) -> None:
        self.world, self.issue, self.repository = world, issue, repository

    @cached_property
    def pull(self) -> Pull | None:
        """The pull request beside it."""
        return lookup.pull_of(self.world, self.issue)

    @cached_property
    def comments(self) -> list[Comment]:
        """The comments of the conversation."""
        return self.world.database.all(Comment, issue_id=self.issue.id)

    @cached_property
    def reviews(self) -> list[Review]:
        """The reviews that were submitted, oldest first."""
        return submitted_reviews(self.world, self.pull) if self.pull else []

    @cached_property
    def labels(self) -> set[str]:
        """The names of the labels, in lower case."""
        found = self._joined(Label, "JOIN issue_labels AS j ON j.label_id = labels.id WHERE j.issue_id = ?")
        return {label.name.casefold() for label in found}

    @cached_property
    def assignees(self) -> set[int]:
        """Who it is assigned to."""
        return {held.user_id for held in self.world.database.all(Assignee, issue_id=self.issue.id)}

    @cached_property
    def milestone(self) -> str | None:
        """The title of the milestone, in lower case."""
        found = self.world.database.get(Milestone, self.issue.milestone_id)
        return found.title.casefold() if found else None

    @cached_property
    def commenters(self) -> set[int]:
        """Who wrote in the conversation or reviewed."""
        return {one.author_id for one in (*self.comments, *self.reviews, *self._review_comments)}

    @cached_property
    def mentioned(self) -> set[str]:
        """The logins that its texts call, in lower case."""
        bodies = (self.issue.body, *(one.body for one in (*self.comments, *self.reviews, *self._review_comments)))
        return {login for body in bodies for login in mentions(body)}

    @cached_property
    def requested(self) -> list[ReviewRequest]:
        """Who was asked to review."""
        return self.world.database.all(ReviewRequest, pull_id=self.pull.id) if self.pull else []

    @cached_property
    def requested_users(self) -> set[int]:
        """Who was asked to review, themselves or as a member of a team."""
        teams = tuple(one.team_id for one in self.requested if one.team_id)
        members = self.world.database.all(TeamMember, team_id=teams) if teams else []
        return {one.user_id for one in self.requested if one.user_id} | {one.user_id for one in members}

    @cached_property
    def reactions(self) -> list[str]:
        """What people reacted with to the issue itself."""
        found = self.world.database.all(Reaction, subject_kind="issues", subject_id=self.issue.id)
        return [one.content for one in found]

    @cached_property
    def author(self) -> User:
        """Who opened it."""
        return lookup.user_by_id(self.world, self.issue.author_id)

    @cached_property
    def home(self) -> str:
        """The full name of the repository."""
        return lookup.full_name(self.world, self.repository)

    @cached_property
    def closes(self) -> set[tuple[str, str, int]]:
        """What a pull request says it closes: owner, name (both in lower case) and number."""
        found = closing_references(self.issue.body, self.home) if self.issue.is_pull else []
        return {(one.owner.casefold(), one.name.casefold(), one.number) for one in found}

    @property
    def comment_count(self) -> int:
        """How many comments the conversation has."""
        return len(self.comments)

    def words(self, field: str) -> list[list[str]]:
        """Return the words of each text of a field: title, body or comments."""
        return self._words[field]() if field in self._words else []

    @cached_property
    def _words(self) -> dict[str, Callable[[], list[list[str]]]]:
        return {
            "title": lambda: [self._title_words],
            "body": lambda: [self._body_words],
            "comments": lambda: self._comment_words,
        }

    @cached_property
    def _title_words(self) -> list[str]:
        return words_of(self.issue.title)

    @cached_property
    def _body_words(self) -> list[str]:
        return words_of(self.issue.body)

    @cached_property
    def _comment_words(self) -> list[list[str]]:
        return [words_of(one.body) for one in (*self.comments, *self.reviews, *self._review_comments)]

    @cached_property
    def _review_comments(self) -> list[ReviewComment]:
        reviews = tuple(review.id for review in self.reviews)
        return self.world.database.all(ReviewComment, review_id=reviews) if reviews else []

    def _joined(self, model: type[RecordT], rest: str) -> list[RecordT]:
        return self.world.database.select(model, rest, (self.issue.id,))
