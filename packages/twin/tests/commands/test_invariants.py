"""Whatever commands come in whatever order, a world stays one that GitHub could be in."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from issue_worlds import make_village

from ghx_twin.commands import issues
from ghx_twin.commands.issues import comments, labels, milestones, reactions
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import (
    Assignee,
    Comment,
    Event,
    Issue,
    IssueLabel,
    Label,
    Milestone,
    Reaction,
    Repository,
    Tombstone,
)

pytestmark = pytest.mark.slow

LOGINS = st.sampled_from(["owner", "writer", "triager", "reader", "stranger"])
TITLES = st.sampled_from(["Crash", "Crash again", " ", "x" * 257, "see #1"])
BODIES = st.sampled_from([None, "", "fixes #1, @reader", "acme/widgets#2", "y" * 65537])
NAMES = st.sampled_from(["bug", "BUG", "new", "new one", "", "z" * 51])
COLORS = st.sampled_from(["ff0000", "#ff0000", "abc"])
REASONS = st.sampled_from([None, "completed", "not_planned", "duplicate", "whim"])
CHOICE = st.integers(min_value=0, max_value=30)


class IssueLife(RuleBasedStateMachine):
    """Runs commands as different people, right and wrong ones, and looks at everything after each."""

    def __init__(self) -> None:
        super().__init__()
        self.village = make_village()
        self.database = self.village.world.database
        self.times: dict[tuple[str, int], str] = {}

    def teardown(self) -> None:
        self.village.world.close()

    def attempt(self, login, command, *arguments, **named) -> None:
        before = self.village.world.snapshot()
        try:
            self.village.act(login, command, *arguments, **named)
        except Refusal:
            assert self.village.world.snapshot() == before

    def any_of(self, model, choice: int):
        found = self.database.all(model)
        return found[choice % len(found)]

    @rule(login=LOGINS, title=TITLES, body=BODIES, choice=CHOICE)
    def create(self, login, title, body, choice) -> None:
        assignee = list(self.village.people.values())[choice % 6]
        self.attempt(login, issues.create, self.village.widgets, title=title, body=body, assignees=[assignee])

    @precondition(lambda self: self.database.count(Issue))
    @rule(login=LOGINS, choice=CHOICE, title=TITLES, body=BODIES)
    def edit(self, login, choice, title, body) -> None:
        self.attempt(login, issues.update, self.any_of(Issue, choice), title=title, body=body)

    @precondition(lambda self: self.database.count(Issue))
    @rule(login=LOGINS, choice=CHOICE, reason=REASONS)
    def close(self, login, choice, reason) -> None:
        self.attempt(login, issues.close, self.any_of(Issue, choice), reason=reason)

    @precondition(lambda self: self.database.count(Issue))
    @rule(
        login=LOGINS,
        choice=CHOICE,
        command=st.sampled_from(
            [issues.reopen, issues.delete, issues.lock, issues.unlock, issues.pin, issues.unpin],
        ),
    )
    def turn(self, login, choice, command) -> None:
        self.attempt(login, command, self.any_of(Issue, choice))

    @precondition(lambda self: self.database.count(Issue) and self.database.count(Label))
    @rule(
        login=LOGINS,
        choice=CHOICE,
        chosen=st.lists(CHOICE, max_size=3),
        command=st.sampled_from([issues.add_labels, issues.remove_labels, issues.set_labels]),
    )
    def put_labels(self, login, choice, chosen, command) -> None:
        picked = [self.any_of(Label, one) for one in chosen]
        self.attempt(login, command, self.any_of(Issue, choice), picked)

    @rule(login=LOGINS, name=NAMES, color=COLORS)
    def make_label(self, login, name, color) -> None:
        self.attempt(login, labels.create, self.village.widgets, name=name, color=color)

    @precondition(lambda self: self.database.count(Label))
    @rule(login=LOGINS, choice=CHOICE, name=NAMES)
    def rename_label(self, login, choice, name) -> None:
        self.attempt(login, labels.update, self.any_of(Label, choice), name=name)

    @precondition(lambda self: self.database.count(Label))
    @rule(login=LOGINS, choice=CHOICE)
    def delete_label(self, login, choice) -> None:
        self.attempt(login, labels.delete, self.any_of(Label, choice))

    @precondition(lambda self: self.database.count(Issue))
    @rule(login=LOGINS, choice=CHOICE, title=st.sampled_from(["v1", "v2", ""]))
    def schedule(self, login, choice, title) -> None:
        self.attempt(login, milestones.create, self.village.widgets, title=title)
        if self.database.count(Milestone):
            milestone = self.any_of(Milestone, choice)
            self.attempt(login, issues.update, self.any_of(Issue, choice), milestone=milestone)
            self.attempt(login, milestones.delete if choice % 2 else milestones.update, milestone)

    @precondition(lambda self: self.database.count(Issue))
    @rule(login=LOGINS, choice=CHOICE, body=st.sampled_from(["hi @owner", "#1 #2", "", "y" * 65537]))
    def comment(self, login, choice, body) -> None:
        self.attempt(login, comments.create, self.any_of(Issue, choice), body)
        if self.database.count(Comment):
            self.attempt(login, reactions.add, self.any_of(Comment, choice), "+1")

    @precondition(lambda self: self.database.count(Comment))
    @rule(login=LOGINS, choice=CHOICE)
    def delete_comment(self, login, choice) -> None:
        self.attempt(login, comments.delete, self.any_of(Comment, choice))

    @invariant()
    def numbers_are_unique_and_dense(self) -> None:
        widgets = self.database.get(Repository, self.village.widgets.id)
        assert widgets is not None
        taken = [one.number for model in (Issue, Tombstone) for one in self.database.all(model)]
        assert sorted(taken) == list(range(1, widgets.next_number))

    @invariant()
    def closed_issues_and_no_others_say_when_and_by_whom(self) -> None:
        for issue in self.database.all(Issue):
            closed = issue.state == "closed"
            assert (issue.closed_at is not None, issue.closed_by_id is not None) == (closed, closed)
            assert (issue.state_reason in {"completed", "not_planned", "duplicate"}) == closed

    @invariant()
    def times_never_go_back(self) -> None:
        for model in (Issue, Label, Comment, Milestone):
            for record in self.database.all(model):
                assert record.updated_at >= self.times.get((model.table, record.id), record.created_at)
                self.times[model.table, record.id] = record.updated_at

    @invariant()
    def nothing_hangs_on_what_is_gone(self) -> None:
        found = {issue.id for issue in self.database.all(Issue)}
        for model in (IssueLabel, Assignee, Comment, Event):
            assert {one.issue_id for one in self.database.all(model)} <= found
        known = {label.id for label in self.database.all(Label)}
        assert {one.label_id for one in self.database.all(IssueLabel)} <= known
        comments_left = {comment.id for comment in self.database.all(Comment)}
        assert {one.subject_id for one in self.database.all(Reaction)} <= comments_left
        sources = (event.data.get("source_issue_id") for event in self.database.all(Event))
        assert {source for source in sources if source} <= found

    @invariant()
    def names_are_unique_whatever_their_case_and_few_issues_are_pinned(self) -> None:
        names = [label.name.casefold() for label in self.database.all(Label)]
        assert len(names) == len(set(names))
        assert self.database.count(Issue, pinned=True) <= 3


TestIssueLife = IssueLife.TestCase
TestIssueLife.settings = settings(max_examples=settings.default.max_examples // 3, stateful_step_count=40)
