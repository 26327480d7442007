"""Whatever is done to pull requests, in whatever order, what must always hold does hold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands.actions import checks
from ghx_twin.commands.pulls import merges, pulls, reviews, threads
from ghx_twin.commands.pulls.threads import NewThread
from ghx_twin.commands.repositories import refs
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.pulls.hunks import find_line
from ghx_twin.queries.repositories import comparison
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Issue, Pull, Review, ReviewComment, Thread, User
from ghx_twin.world import Act

pytestmark = pytest.mark.slow

PEOPLE = ("ann", "bob", "tri", "rea", "adm")
BRANCHES = ("main", "one", "two")
Step = tuple[str, str, int, int]


@pytest.fixture(scope="module")
def original() -> Iterator[Shop]:
    shop = make_shop()
    for branch in BRANCHES[1:]:
        shop.write(branch, {"poem.txt": LINES.replace("line 9\n", f"nine of {branch}\n")})
    shop.protect("two", required_approvals=1, dismiss_stale_reviews=True)
    shop.setting(allow_auto_merge=True, delete_branch_on_merge=True)
    yield shop
    shop.world.close()


@dataclass
class Player:
    """Does one step as one person; `a` and `b` choose what it is done to."""

    shop: Shop
    act: Act
    a: int
    b: int

    def pick(self, model: type[Any]) -> Any:
        found = self.shop.world.database.all(model)
        if not found:
            raise NothingThereError
        return found[self.a % len(found)]

    def branch(self, number: int) -> str:
        return BRANCHES[number % len(BRANCHES)]

    def push(self) -> None:
        self._write(self.shop.ref(f"refs/heads/{self.branch(self.a)}"))

    def force(self) -> None:
        if self.branch(self.a) == "main":
            raise NothingThereError
        self._write(self.shop.ref("refs/heads/main"))

    def _write(self, start: str | None) -> None:
        name = self.branch(self.a)
        changed = LINES.replace(f"line {self.b + 7}\n", f"changed {self.a} {self.b}\n")
        sha = self.shop.commit(self.act, self.shop.repository, start or self.shop.tip("main"), {"poem.txt": changed})
        repository = self.shop.repository
        if self.shop.ref(f"refs/heads/{name}") is None:
            refs.create(self.act, repository, ref=f"refs/heads/{name}", sha=sha)
        else:
            refs.update(self.act, repository, ref=f"refs/heads/{name}", sha=sha, force=start != self.shop.tip(name))

    def delete_branch(self) -> None:
        refs.delete(self.act, self.shop.repository, ref=f"refs/heads/{self.branch(self.a)}")

    def open(self) -> None:
        head, base, draft = self.branch(self.a), self.branch(self.b), self.b > 5
        pulls.create(self.act, self.shop.repository, title="T", head=head, base=base, draft=draft)

    def close(self) -> None:
        pulls.close(self.act, self.pick(Pull))

    def reopen(self) -> None:
        pulls.reopen(self.act, self.pick(Pull))

    def ready(self) -> None:
        pulls.mark_ready(self.act, self.pick(Pull))

    def rebase(self) -> None:
        pulls.update(self.act, self.pick(Pull), base=self.branch(self.b))

    def update_branch(self) -> None:
        pulls.update_branch(self.act, self.pick(Pull), method="rebase" if self.b % 2 else "merge")

    def merge(self) -> None:
        method: merges.Method = ("merge", "squash", "rebase")[self.b % 3]
        merges.merge(self.act, self.pick(Pull), method=method)

    def promise(self) -> None:
        merges.enable_auto_merge(self.act, self.pick(Pull), method="squash")

    def review(self) -> None:
        event: Any = (None, "APPROVE", "REQUEST_CHANGES", "COMMENT")[self.b % 4]
        placed = [NewThread(path="poem.txt", line=self.b + 6, body="x")] if self.a % 2 else []
        reviews.create(self.act, self.pick(Pull), event=event, body="b" * (self.a % 3), threads=placed)

    def submit(self) -> None:
        reviews.submit(self.act, self.pick(Review), event="APPROVE" if self.b % 2 else "COMMENT", body="now")

    def dismiss(self) -> None:
        reviews.dismiss(self.act, self.pick(Review), "why")

    def drop(self) -> None:
        reviews.delete_pending(self.act, self.pick(Review))

    def comment(self) -> None:
        side: Any = "LEFT" if self.b % 2 else "RIGHT"
        threads.create(self.act, self.pick(Pull), path="poem.txt", line=self.b + 6, side=side, body="c")

    def reply(self) -> None:
        threads.reply(self.act, self.pick(Thread), "r")

    def resolve(self) -> None:
        (threads.unresolve if self.b % 3 == 0 else threads.resolve)(self.act, self.pick(Thread))

    def delete_comment(self) -> None:
        threads.delete_comment(self.act, self.pick(ReviewComment))

    def ask(self) -> None:
        user = self.shop.people[PEOPLE[self.b % len(PEOPLE)]]
        reviews.request_reviews(self.act, self.pick(Pull), users=[user], replace=self.a % 2 == 0)

    def check(self) -> None:
        state = checks.STATES[self.b % 4]
        checks.create_status(self.act, self.shop.repository, sha=self.pick(Pull).head_sha, state=state)


class NothingThereError(Exception):
    """The step has nothing it could be done to."""


STEPS = tuple(name for name in vars(Player) if not name.startswith("_") and name not in {"pick", "branch"})
steps = st.lists(
    st.tuples(
        st.sampled_from(STEPS + ("open", "push", "review", "merge") * 3),
        st.sampled_from(("ann", "bob", "adm") * 2 + PEOPLE),
        st.integers(0, 7),
        st.integers(0, 7),
    ),
    max_size=25,
)


@settings(
    max_examples=settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(sequence=steps)
def test_every_sequence_keeps_what_must_hold_and_refused_steps_change_nothing(
    original: Shop, sequence: list[Step]
) -> None:
    with original.world.fork() as world:
        shop = Shop(world, original.people)
        for name, person, a, b in sequence:
            before = world.snapshot()
            try:
                with shop.acting(person) as act:
                    step: Callable[[], None] = getattr(Player(shop, act, a, b), name)
                    step()
            except (Refusal, NothingThereError):
                assert world.snapshot() == before
            check(shop)


def check(shop: Shop) -> None:
    database = shop.world.database
    found = database.all(Pull)
    for pull in found:
        check_refs(shop, pull, lookup.issue_of(shop.world, pull))
        check_reviews(shop, pull)
        check_threads(shop, pull)
    numbers = [issue.number for issue in database.all(Issue)]
    assert numbers == list(range(1, shop.repository.next_number))
    opened = [(pull.head_ref, pull.base_ref) for pull in found if shop.issue(pull).state == "open"]
    assert len(opened) == len(set(opened))


def check_refs(shop: Shop, pull: Pull, issue: Issue) -> None:
    git = shop.world.git(shop.repository)
    assert shop.ref(f"refs/pull/{issue.number}/head") == pull.head_sha
    trial = comparison.trial_merge_commit(shop.world, pull)
    if pull.merged_at is not None:
        assert issue.state == "closed"
        assert pull.merge_commit_sha is not None
        assert pull.merged_by_id is not None
        if pull.base_ref == "main":  # never forced here
            assert git.is_ancestor(pull.merge_commit_sha, shop.tip("main"))
    if issue.state == "closed":
        assert trial is None
        assert pull.auto_merge is None
        return
    base = shop.tip(pull.base_ref)
    assert shop.tip(pull.head_ref) == pull.head_sha
    assert pull.merge_commit_sha is None
    assert not git.is_ancestor(pull.head_sha, base)
    merged = git.commit(trial) if trial else None
    assert (merged.parents if merged else None) == ((base, pull.head_sha) if git.merge(base, pull.head_sha) else None)


def check_reviews(shop: Shop, pull: Pull) -> None:
    issue, found = shop.issue(pull), shop.world.database.all(Review, pull_id=pull.id)
    pending = [review.author_id for review in found if review.state == "PENDING"]
    assert len(pending) == len(set(pending))
    for review in found:
        assert (review.state == "PENDING") == (review.submitted_at is None)
        assert review.author_id != issue.author_id or review.state in {"PENDING", "COMMENTED"}


def check_threads(shop: Shop, pull: Pull) -> None:
    issue, database = shop.issue(pull), shop.world.database
    shown = comparison.hunks_of(comparison.files(shop.world, pull), "poem.txt") or ()
    for thread in database.all(Thread, pull_id=pull.id):
        comments = database.all(ReviewComment, thread_id=thread.id)
        assert [comment.in_reply_to_id for comment in comments] == [None] + [comments[0].id] * (len(comments) - 1)
        assert all(database.get(Review, comment.review_id) for comment in comments)
        assert thread.outdated == (thread.line is None)
        if thread.line is not None and issue.state == "open":
            assert find_line(shown, comparison.side_of(thread), thread.line) is not None
        if thread.resolved_by_id is not None:
            resolver = database.get(User, thread.resolved_by_id)
            assert resolver is not None
            writes = permissions.at_least(permissions.user_role(shop.world, resolver, shop.repository), "write")
            assert writes or resolver.id == issue.author_id
