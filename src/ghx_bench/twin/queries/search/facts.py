"""Everything that an issue search may ask about one issue, looked up at most once per search."""

from collections.abc import Callable, Iterable
from functools import cached_property

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.references import closing_references, mentions
from ghx_bench.twin.queries.reviews import submitted_reviews
from ghx_bench.twin.queries.search.matching import split_words
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
    """One issue with everything that a query can ask about it."""

    def __init__(self, world: World, issue: Issue, repository: Repository) -> None:
        self.world, self.issue, self.repository = world, issue, repository
        self._words: dict[str, list[list[str]]] = {}

    @cached_property
    def pull(self) -> Pull | None:
        """The pull request of the issue record."""
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
        placed = "JOIN issue_labels AS j ON j.label_id = labels.id WHERE j.issue_id = ?"
        found = self.world.database.select(Label, placed, (self.issue.id,))
        return {label.name.casefold() for label in found}

    @cached_property
    def assignees(self) -> set[int]:
        """The ids of the assignees."""
        return {held.user_id for held in self.world.database.all(Assignee, issue_id=self.issue.id)}

    @cached_property
    def milestone(self) -> str | None:
        """The title of the milestone, in lower case."""
        found = self.world.database.get(Milestone, self.issue.milestone_id)
        return found.title.casefold() if found else None

    @cached_property
    def commenters(self) -> set[int]:
        """The ids of those who commented or reviewed."""
        return {one.author_id for one in (*self.comments, *self.reviews, *self._review_comments)}

    @cached_property
    def mentioned(self) -> set[str]:
        """The logins that its texts mention, in lower case."""
        bodies = (self.issue.body, *(one.body for one in (*self.comments, *self.reviews, *self._review_comments)))
        return {login for body in bodies for login in mentions(body)}

    @cached_property
    def requested(self) -> list[ReviewRequest]:
        """The requests for reviews."""
        return self.world.database.all(ReviewRequest, pull_id=self.pull.id) if self.pull else []

    @cached_property
    def requested_users(self) -> set[int]:
        """The ids of those asked to review, themselves or as members of a team."""
        teams = tuple(one.team_id for one in self.requested if one.team_id)
        members = self.world.database.all(TeamMember, team_id=teams) if teams else []
        return {one.user_id for one in self.requested if one.user_id} | {one.user_id for one in members}

    @cached_property
    def reactions(self) -> list[str]:
        """The reactions to the issue itself."""
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
        """The issues that a pull request says it closes: owner, name (both in lower case) and number."""
        found = closing_references(self.issue.body, self.home) if self.issue.is_pull else []
        return {(one.owner.casefold(), one.name.casefold(), one.number) for one in found}

    @property
    def comment_count(self) -> int:
        """How many comments the conversation has."""
        return len(self.comments)

    def words(self, field: str) -> list[list[str]]:
        """Return the words of each text of a field: title, body or comments."""
        if field not in self._words:  # read and split when a query asks for them: most ask for few fields
            texts: dict[str, Callable[[], Iterable[str | None]]] = {
                "title": lambda: (self.issue.title,),
                "body": lambda: (self.issue.body,),
                "comments": lambda: (one.body for one in (*self.comments, *self.reviews, *self._review_comments)),
            }
            self._words[field] = [split_words(text) for text in texts[field]()] if field in texts else []
        return self._words[field]

    @cached_property
    def _review_comments(self) -> list[ReviewComment]:
        reviews = tuple(review.id for review in self.reviews)
        return self.world.database.all(ReviewComment, review_id=reviews) if reviews else []
