from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.pulls import pulls
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls.pulls import closing_issues
from ghx_twin.queries.repositories import comparison
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Repository


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def refusal(shop: Shop, *, by: str = "ann", **arguments) -> InvalidRefusal:
    given = {"title": "T", "head": "feature", "base": "main", **arguments}
    with pytest.raises(InvalidRefusal) as caught, shop.acting(by) as act:
        pulls.create(act, shop.repository, **given)
    return caught.value


def fork(shop: Shop, login: str = "rea") -> Repository:
    with shop.acting(login) as act:
        return repositories.fork(act, shop.repository, owner=shop.people[login])


def test_a_pull_request_takes_the_next_number_and_keeps_its_refs(shop: Shop) -> None:
    with shop.acting() as act:
        issues.create(act, shop.repository, title="An issue")
    pull = shop.open(body="Why")

    issue = shop.issue(pull)
    assert (issue.number, issue.is_pull, issue.author_id, issue.body) == (2, True, shop.people["ann"].id, "Why")
    assert pull.head_sha == shop.tip("feature") == shop.ref("refs/pull/2/head")
    assert pull.base_sha == shop.tip("main")
    trial = comparison.trial_merge_commit(shop.world, pull)
    assert trial is not None
    assert trial == shop.ref("refs/pull/2/merge")
    merged = shop.world.git(shop.repository).commit(trial)
    assert merged is not None
    assert merged.parents == (shop.tip("main"), pull.head_sha)


def test_what_it_brings_is_counted_from_where_the_branch_was_made(shop: Shop) -> None:
    shop.write("feature", {"new.txt": "1\n2\n"}, "One")
    shop.write("feature", {"poem.txt": None}, "Two")
    shop.write("main", {"other.txt": "x\n"})
    pull = shop.open()

    assert [file.path for file in comparison.files(shop.world, pull)] == ["new.txt", "poem.txt"]
    assert [commit.message for commit in comparison.commits(shop.world, pull)] == ["One", "Two"]


@pytest.mark.parametrize(
    ("head", "base", "fields"),
    [
        ("nope", "main", ["head"]),
        ("feature", "nope", ["base"]),
        ("x", "y", ["base", "head"]),
        ("ghost:feature", "main", ["head"]),
        ("bob:feature", "main", ["head"]),
        ("", "main", ["head"]),
        ("feature", "", ["base"]),
        ("\ud800", "main", ["head"]),
        ("\ud800:x", "main", ["head"]),
    ],
)
def test_branches_that_are_not_there_are_named_in_the_refusal(
    shop: Shop, head: str, base: str, fields: list[str]
) -> None:
    shop.write("feature", {"a": "a"})
    told = refusal(shop, head=head, base=base)

    assert told.message == "Validation Failed"
    assert [error.field for error in told.errors if isinstance(error, FieldError)] == fields
    assert {error.code for error in told.errors if isinstance(error, FieldError)} == {"invalid"}
    assert "Head sha can't be blank" in told.graphql_message


def test_a_branch_without_news_is_refused(shop: Shop) -> None:
    shop.branch("feature")

    assert refusal(shop).graphql_message == "No commits between main and feature"
    assert refusal(shop, head="main").graphql_message == "No commits between main and main"
    assert shop.ref("refs/pull/1/head") is None
    assert shop.repository.next_number == 1


def test_a_second_pull_request_of_the_same_branches_is_refused_until_the_first_is_closed(shop: Shop) -> None:
    pull = shop.open()

    told = refusal(shop)
    assert told.errors == (
        FieldError(resource="PullRequest", code="custom", message="A pull request already exists for acme:feature."),
    )
    shop.branch("other")
    shop.open(base="other")
    with shop.acting() as act:
        pulls.close(act, pull)
    assert shop.issue(shop.open()).number == 3


def test_a_title_is_needed(shop: Shop) -> None:
    shop.write("feature", {"a": "a"})
    told = refusal(shop, title="  ")

    assert [(error.field, error.code) for error in told.errors if isinstance(error, FieldError)] == [
        ("title", "missing_field")
    ]


def test_a_branch_of_a_fork_is_brought_over(shop: Shop) -> None:
    copy = fork(shop)
    sha = shop.write("topic", {"a.txt": "a\n"}, repository=copy)
    pull = shop.open("rea:topic", by="rea", maintainer_can_modify=True)

    assert (pull.head_repository_id, pull.head_ref, pull.head_sha) == (copy.id, "topic", sha)
    assert pull.maintainer_can_modify
    assert shop.ref("refs/pull/1/head") == sha
    assert [file.path for file in comparison.files(shop.world, pull)] == ["a.txt"]


def test_a_push_to_a_fork_updates_the_pull_request_of_its_parent(shop: Shop) -> None:
    copy = fork(shop)
    shop.write("topic", {"a.txt": "a\n"}, repository=copy)
    pull = shop.open("rea:topic", by="rea")
    sha = shop.write("topic", {"b.txt": "b\n"}, repository=copy)

    assert shop.fresh(pull).head_sha == sha == shop.ref("refs/pull/1/head")
    assert len(comparison.files(shop.world, shop.fresh(pull))) == 2


def test_the_head_must_be_writable_for_who_asks(shop: Shop) -> None:
    shop.write("feature", {"a": "a"})
    assert refusal(shop, by="rea").graphql_message == "must be a collaborator"


def test_a_private_repository_is_not_there_for_strangers(shop: Shop) -> None:
    shop.write("feature", {"a": "a"})
    shop.setting(visibility="private")
    with pytest.raises(NotFoundRefusal), shop.acting("rea") as act:
        pulls.create(act, shop.repository, title="T", head="feature", base="main")


def test_branches_without_common_history_are_refused(shop: Shop) -> None:
    with shop.acting(None) as act:
        sha = shop.commit(act, shop.repository, None, {"alone.txt": "x"})
        act.git(shop.repository).set_ref("refs/heads/feature", sha)
    assert "no history in common" in refusal(shop).graphql_message


def test_keywords_promise_to_close_issues_where_the_base_is_the_default_branch(shop: Shop) -> None:
    with shop.acting() as act:
        for title in ("One", "Two"):
            issues.create(act, shop.repository, title=title)
    shop.branch("other")
    pull = shop.open(body="Fixes #1, closes acme/widgets#2, closes #77")
    aside = shop.open(base="other", body="Fixes #1")

    assert [issue.number for issue in closing_issues(shop.world, pull)] == [1, 2]
    assert closing_issues(shop.world, aside) == []
    assert lookup.issue(shop.world, shop.repository, 1).state == "open"
