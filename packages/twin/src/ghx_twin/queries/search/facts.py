"""Everything that an issue search may ask about one issue, looked up at most once per search."""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_relations import visible_issues
from ghx_twin.queries.projects import projects
from ghx_twin.queries.pulls.reviews import submitted_reviews
from ghx_twin.queries.references import closing_references, mentions
from ghx_twin.queries.search.matching import contains_words, split_words
from ghx_twin.state.records import (
    Assignee,
    Comment,
    Issue,
    IssueType,
    Label,
    Milestone,
    Project,
    ProjectItem,
    Pull,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    TeamMember,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


class Conversations:
    """The comments on all issues that a search looks at, and their projects, read at once when it asks for one's."""

    def __init__(self, world: World, repositories: Collection[int], viewer: Viewer | None = None) -> None:
        self._world, self._repositories, self.viewer = world, tuple(repositories), viewer

    def comments(self, issue: Issue) -> list[Comment]:
        """Return the comments on an issue, oldest first."""
        return self._by_issue.get(issue.id, [])

    def projects(self, issue: Issue) -> set[str]:
        """Return the projects that an issue is on, as `owner/number` in lower case, that the viewer may see."""
        return self._projects.get(issue.id, set())

    @cached_property
    def _projects(self) -> dict[int, set[str]]:
        database, found = self._world.database, dict[int, set[str]]()
        for project in database.all(Project):
            if projects.may(self._world, self.viewer, project, "reader"):
                name = f"{projects.owner_of(self._world, project).login}/{project.number}".lower()
                for item in database.all(ProjectItem, project_id=project.id):
                    found.setdefault(item.issue_id or 0, set()).add(name)
        return found

    @cached_property
    def _by_issue(self) -> dict[int, list[Comment]]:
        comments: dict[int, list[Comment]] = {}
        marks = ", ".join("?" * len(self._repositories))
        rest = f"WHERE issue_id IN (SELECT id FROM issues WHERE repository_id IN ({marks})) ORDER BY id"  # noqa: S608 - question marks
        for comment in self._world.database.select(Comment, rest, self._repositories):
            comments.setdefault(comment.issue_id, []).append(comment)
        return comments


class Facts:
    """One issue with everything that a query can ask about it."""

    def __init__(self, world: World, issue: Issue, repository: Repository, conversations: Conversations) -> None:
        self.world, self.issue, self.repository, self.conversations = world, issue, repository, conversations
        self._texts: dict[str, list[str]] = {}

    @property
    def projects(self) -> set[str]:
        """The projects that it is on and the viewer may see, as `owner/number` in lower case."""
        return self.conversations.projects(self.issue)

    def sees_any(self, issues: Iterable[Issue]) -> bool:
        """Return whether the viewer may see one of the issues that this one is related to."""
        return bool(visible_issues(self.world, self.conversations.viewer, issues))

    @cached_property
    def pull(self) -> Pull | None:
        """The pull request of the issue record."""
        return lookup.pull_of(self.world, self.issue)

    @cached_property
    def comments(self) -> list[Comment]:
        """The comments of the conversation."""
        return self.conversations.comments(self.issue)

    @cached_property
    def reviews(self) -> list[Review]:
        """The reviews that were submitted, oldest first."""
        return submitted_reviews(self.world, self.pull) if self.pull else []

    @cached_property
    def labels(self) -> set[str]:
        """The names of the labels, in lower case."""
        placed = "JOIN issue_labels AS j ON j.label_id = labels.id WHERE j.issue_id = ?"
        records = self.world.database.select(Label, placed, (self.issue.id,))
        return {label.name.casefold() for label in records}

    @cached_property
    def issue_type(self) -> str | None:
        """The name of its type, in lower case."""
        issue_type = self.world.database.get(IssueType, self.issue.issue_type_id)
        return issue_type.name.casefold() if issue_type else None

    @cached_property
    def assignees(self) -> set[int]:
        """The ids of the assignees."""
        return {users_by_id.user_id for users_by_id in self.world.database.all(Assignee, issue_id=self.issue.id)}

    @cached_property
    def milestone(self) -> str | None:
        """The title of the milestone, in lower case."""
        milestone = self.world.database.get(Milestone, self.issue.milestone_id)
        return milestone.title.casefold() if milestone else None

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
        reactions = self.world.database.all(Reaction, subject_kind="issues", subject_id=self.issue.id)
        return [one.content for one in reactions]

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
        closes = closing_references(self.issue.body, self.home) if self.issue.is_pull else []
        return {(one.owner.casefold(), one.name.casefold(), one.number) for one in closes}

    @property
    def comment_count(self) -> int:
        """How many comments the conversation has."""
        return len(self.comments)

    def contains(self, field: str, needle: Sequence[str]) -> bool:
        """Return whether a text of a field (title, body or comments) has these words, one after the other."""
        for text in self._folded_texts(field):
            # Most texts lack the first word even as part of another: splitting all of them took most of a search.
            if not needle or (needle[0] in text and contains_words(split_words(text), needle)):
                return True
        return False

    def _folded_texts(self, field: str) -> list[str]:
        if field not in self._texts:  # read when a query asks for them: most ask for few fields
            texts: Iterable[str | None] = ()
            match field:
                case "title":
                    texts = (self.issue.title,)
                case "body":
                    texts = (self.issue.body,)
                case "comments":
                    texts = (one.body for one in (*self.comments, *self.reviews, *self._review_comments))
                case _:
                    pass
            self._texts[field] = [(text or "").casefold() for text in texts]
        return self._texts[field]

    @cached_property
    def _review_comments(self) -> list[ReviewComment]:
        reviews = tuple(review.id for review in self.reviews)
        return self.world.database.all(ReviewComment, review_id=reviews) if reviews else []
