"""Searches over a world: qualifiers, words, order, and what a viewer may see."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from issue_worlds import Village, make_village

from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.actions import checks
from ghx_twin.commands.issues import comments, milestones, reactions
from ghx_twin.commands.pulls import merges, pulls, reviews
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup
from ghx_twin.queries.search import (
    UnknownSubjectRefusal,
    search_code,
    search_commits,
    search_issues,
    search_repositories,
    search_users,
)
from ghx_twin.queries.search.matching import contains_words, split_words
from ghx_twin.refusals import InvalidRefusal, NotImplementedRefusal
from ghx_twin.state.records import Comment, Issue, Pull, Record

pytestmark = pytest.mark.slow

REPO = "repo:acme/widgets"


def open_pull(village: Village, login: str, branch: str, **named: object) -> Pull:
    tip = village.world.git(village.widgets).ref("refs/heads/main")
    village.act("writer", refs.create, village.widgets, ref=f"refs/heads/{branch}", sha=tip)
    village.act(
        "writer",
        contents.put,
        village.widgets,
        path=f"{branch}.py",
        content=f"print('{branch} works')\n".encode(),
        message=f"Add {branch}",
        branch=branch,
    )
    return village.act(login, pulls.create, village.widgets, head=branch, base="main", **named)


def populate(village: Village) -> None:
    """Issues 1 to 4, pull requests 5 to 7, and a secret repository with an issue."""
    world, people = village.world, village.people
    milestone = village.act("owner", milestones.create, village.widgets, title="First Light")
    one = village.issue("reader", title="Crash on start", body="It crashes, @member", labels=[village.label("bug")])
    two = village.issue(
        "owner",
        title="Slow start-up",
        body="memory",
        labels=[village.label("bug"), village.label("help wanted")],
        assignees=[people["writer"]],
        milestone=milestone,
    )
    three = village.issue("stranger", title="Why?", body=None)
    four = village.issue("reader", title="Done")
    village.act("owner", issues.add_labels, one, [village.label("bug")])
    village.act("stranger", comments.create, two, "a crash too")
    village.act("owner", comments.create, two, "noted")
    village.act("owner", reactions.add, three, "heart")
    village.act("owner", issues.close, three, reason="not_planned")
    village.act("owner", issues.close, four)
    village.act("owner", issues.lock, four)
    merged = open_pull(village, "writer", "fast", title="Make it fast", body="Fixes #2")
    village.act("owner", reviews.create, merged, event="APPROVE")
    village.act("owner", merges.merge, merged)
    draft = open_pull(village, "writer", "draft", title="Try it", draft=True)
    village.act("owner", reviews.create, draft, event="REQUEST_CHANGES", body="not the crash path")
    waiting = open_pull(village, "member-fork", "wait", title="Wait") if "member-fork" in people else None
    waiting = waiting or open_pull(village, "writer", "wait", title="Wait for it")
    village.act("owner", reviews.request_reviews, waiting, users=[people["triager"]])
    village.act("owner", checks.create_status, village.widgets, sha=waiting.head_sha, state="failure", context="ci")
    secret = village.act("owner", repositories.create, owner=village.acme, name="secret", visibility="private")
    village.act("owner", issues.create, secret, title="Crash in secret")
    assert lookup.issue_of(world, waiting).number == 7


@pytest.fixture(scope="module")
def town() -> Iterator[Village]:
    made = make_village()
    populate(made)
    yield made
    made.world.close()


def numbers(village: Village, query: str, login: str = "owner", **named: str) -> list[int]:
    return [issue.number for issue in search_issues(village.world, village.viewer(login), query, **named)]


@pytest.mark.parametrize("sort", [{}, {"sort": "created"}, {"sort": "updated", "order": "asc"}])
@pytest.mark.parametrize(
    "query",
    [
        "", "crash", "the crash", '"crash path"', "crash in:title", "crash in:comments", "path in:title,body",
        "is:open", "is:closed crash", "is:pr crash", "is:issue is:open", f"{REPO} crash", "user:acme is:pr",
        "CRASH", "crash is:open is:closed", "nothing-of-this",
    ],
)  # fmt: skip
def test_the_database_finds_what_reading_every_issue_finds(
    town: Village, monkeypatch: pytest.MonkeyPatch, query: str, sort: dict[str, str]
) -> None:
    plain = numbers(town, query, **sort)
    with town.world.fork() as fork, monkeypatch.context() as without:
        without.setattr("ghx_twin.queries.search.issues._find_plain", lambda *_, **__: None)
        read = [issue.number for issue in search_issues(fork, town.viewer("owner"), query, **sort)]

    assert plain == read


def test_only_a_page_of_what_was_found_is_read(town: Village, monkeypatch: pytest.MonkeyPatch) -> None:
    with town.world.fork() as fork:
        with fork.acting(None) as act:
            for number in range(300):
                issues.create(act, lookup.repository(fork, None, "acme", "widgets"), title=f"Many {number}")
        read: list[int] = []
        rows = fork.database.rows

        def count(model: type[Record], rest: str = "", values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
            found = rows(model, rest, values)
            read.append(len(found) if model is Issue else 0)
            return found

        monkeypatch.setattr(fork.database, "rows", count)
        found = search_issues(fork, town.viewer("owner"), "many is:open")
        page = list(found[30:60])

    assert (len(found), len(page), page[0].title) == (300, 30, "Many 269")
    assert sum(read) == 30


def test_a_search_is_made_anew_after_a_change(town: Village) -> None:
    with town.world.fork() as fork:
        before = len(search_issues(fork, None, "crash"))
        with fork.acting(None) as act:
            made = issues.create(act, lookup.repository(fork, None, "acme", "widgets"), title="Another crash")
        assert search_issues(fork, None, "crash in:title")[0].id == made.id
        assert len(search_issues(fork, None, "crash")) == before + 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("is:issue", {1, 2, 3, 4}),
        ("type:pr", {5, 6, 7}),
        ("is:open is:issue", {1}),
        ("state:closed type:issue", {2, 3, 4}),
        ("is:merged", {5}),
        ("is:pr is:unmerged", {6, 7}),
        ("draft:true", {6}),
        ("draft:false", {5, 7}),
        ("is:locked", {4}),
        ("crash", {1, 2, 6}),
        ("CRASH in:title", {1}),
        ("crash in:comments", {2, 6}),
        ("crashes", {1}),
        ('"slow start"', {2}),
        ("start-up", {2}),
        ("cras", set()),
        ("( crash ) type:issue", {1, 2}),
        ("crash AND slow", {2}),
        ("why OR slow", {2, 3}),
        ("is:issue -label:bug", {3, 4}),
        ("is:issue NOT crash", {3, 4}),
        ("label:BUG", {1, 2}),
        ('label:bug label:"help wanted"', {2}),
        ('label:"help wanted",bug', {1, 2}),
        ("is:issue no:label", {3, 4}),
        ("has:label", {1, 2}),
        ("author:reader", {1, 4}),
        ("author:stranger is:issue", {3}),
        ("assignee:writer", {2}),
        ("assignee:*", {2}),
        ("no:assignee is:issue", {1, 3, 4}),
        ('milestone:"first light"', {2}),
        ("no:milestone is:issue", {1, 3, 4}),
        ("mentions:member", {1}),
        ("commenter:stranger", {2}),
        ("involves:stranger", {2, 3}),
        ("involves:member", {1}),
        ("reviewed-by:owner", {5, 6}),
        ("review-requested:triager", {7}),
        ("user-review-requested:triager", {7}),
        ("review:approved", {5}),
        ("review:changes_requested", {6}),
        ("review:none", {7}),
        ("head:fast", {5}),
        ("base:main", {5, 6, 7}),
        ('reason:"not planned"', {3}),
        ("reason:completed", {2, 4}),
        ("linked:pr", {2}),
        ("linked:issue", {5}),
        ("comments:2", {2}),
        ("comments:>0 is:issue", {2}),
        ("reactions:>=1", {3}),
        ("status:failure", {7}),
        ("archived:true", set()),
        ("created:>=2026-01-01 is:issue", {1, 2, 3, 4}),
        ("created:<2026-01-01", set()),
        ("merged:2026-01-01", {5}),
        ("closed:2026 is:issue", {2, 3, 4}),
        ("user:acme is:merged", {5}),
        ("is:private", set()),
        ("(is:merged OR is:draft) author:writer", {5, 6}),
        ("is:nonsense", set()),
        ("'; DROP TABLE issues; --", set()),
    ],
)
def test_qualifiers_find_what_they_say(town: Village, query: str, found: set[int]) -> None:
    assert set(numbers(town, f"{query} {REPO}")) == found


def test_me_is_the_viewer(town: Village) -> None:
    assert numbers(town, "is:issue author:@me", "reader") == [4, 1]
    assert numbers(town, "review-requested:@me state:open type:pr", "triager") == [7]


def test_nobody_finds_what_they_may_not_see(town: Village) -> None:
    assert len(search_issues(town.world, town.viewer("owner"), "secret")) == 1
    assert not search_issues(town.world, town.viewer("stranger"), "secret")
    assert not search_issues(town.world, town.viewer("owner", frozenset()), "secret")
    with pytest.raises(UnknownSubjectRefusal):
        search_issues(town.world, town.viewer("stranger"), "repo:acme/secret")


@pytest.mark.parametrize("query", ["repo:no/such", "user:nosuch", "author:nosuch", "repo:widgets", "assignee:\udfff"])
def test_a_query_about_unknown_subjects_is_refused(town: Village, query: str) -> None:
    with pytest.raises(UnknownSubjectRefusal):
        search_issues(town.world, town.viewer("owner"), query)


def test_one_known_repository_among_unknown_ones_is_enough(town: Village) -> None:
    assert numbers(town, f"{REPO} repo:no/such is:merged") == [5]


def test_two_repositories_are_searched_together(town: Village) -> None:
    found = search_issues(town.world, town.viewer("owner"), f"{REPO} repo:acme/secret crash in:title")

    assert {issue.title for issue in found} == {"Crash on start", "Crash in secret"}


def test_what_the_twin_cannot_search_by_is_said(town: Village) -> None:
    with pytest.raises(NotImplementedRefusal):
        numbers(town, f"{REPO} language:go")


@pytest.mark.parametrize(
    ("named", "query", "order"),
    [
        ({}, "", [4, 3, 2, 1]),
        ({}, "sort:created-asc", [1, 2, 3, 4]),
        ({"sort": "created", "order": "asc"}, "", [1, 2, 3, 4]),
        ({"sort": "comments"}, "", [2, 4, 3, 1]),
        ({}, "sort:comments-desc", [2, 4, 3, 1]),
        ({"sort": "reactions"}, "", [3, 4, 2, 1]),
        ({}, "sort:reactions-heart-desc", [3, 4, 2, 1]),
        ({}, "sort:updated-asc", [1, 3, 4, 2]),
        ({}, "sort:nonsense", [4, 3, 2, 1]),
    ],
)
def test_results_come_in_the_order_asked_for(
    town: Village, named: dict[str, str], query: str, order: list[int]
) -> None:
    assert numbers(town, f"is:issue {REPO} {query}", **named) == order


def test_a_word_in_the_title_counts_more_than_one_in_a_comment(town: Village) -> None:
    assert numbers(town, f"crash {REPO}")[0] == 1


def test_a_kind_leaves_out_the_other(town: Village) -> None:
    assert numbers(town, f"{REPO} is:pr", kind="issue") == []
    assert set(numbers(town, REPO, kind="pr")) == {5, 6, 7}


ATOMS = st.sampled_from([
    "is:open", "is:pr", "crash", "label:bug", "author:reader", "no:label", "draft:true", "comments:>0", "start",
    "review:none", "involves:stranger", "created:2026",
])  # fmt: skip


@settings(max_examples=settings.default.max_examples)
@given(ATOMS, ATOMS, ATOMS)
def test_searches_obey_the_laws_of_sets(a: str, b: str, c: str) -> None:
    town = shared_town()
    everything, sa, sb, sc = (set(numbers(town, f"{REPO} {query}")) for query in ("", a, b, c))

    assert set(numbers(town, f"{REPO} -({a})")) == everything - sa
    assert set(numbers(town, f"({a} OR {b}) AND NOT {c} {REPO}")) == (sa | sb) - sc
    assert set(numbers(town, f"{a} {b} OR {c} {REPO}")) == sa & (sb | sc)
    assert set(numbers(town, f"{a} AND {b} OR {c} {REPO}")) == (sa & sb) | sc


ODDITIES = st.sampled_from([
    "(", ")", "-(", "OR", "AND", "-", '"', "sort:", "-sort:updated", "created:x", "comments:", "in:body", "-in:body",
    "team:a/b", "reviewed-by:@me", "-repo:acme/widgets", "NOT", 'label:""', "merge:true", "hash:0", "path:/", "\ud800",
])  # fmt: skip


@settings(max_examples=settings.default.max_examples)
@given(st.text(max_size=60) | st.lists(ATOMS | ODDITIES, max_size=12).map(" ".join))
def test_no_query_breaks_a_search(query: str) -> None:
    town = shared_town()
    for search in (search_issues, search_repositories, search_users, search_commits, search_code):
        with suppress(InvalidRefusal, NotImplementedRefusal):
            search(town.world, town.viewer("owner"), query)


_TOWNS: list[Village] = []


def shared_town() -> Village:
    """One town for all examples: searches change nothing."""
    if not _TOWNS:
        _TOWNS.append(make_village())
        populate(_TOWNS[0])
    return _TOWNS[0]


@pytest.fixture(scope="module", autouse=True)
def close_shared_town() -> Iterator[None]:
    yield
    while _TOWNS:
        _TOWNS.pop().world.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("widg", ["widgets"]),
        ("user:acme", ["secret", "widgets"]),
        ("org:acme is:public", ["widgets"]),
        ("useful in:description", ["tool"]),
        ("language:python", ["widgets"]),
        ("topic:cli", ["tool"]),
        ("fork:only", ["widgets"]),
        ("widgets fork:true", ["widgets", "widgets"]),
        ("archived:true", []),
        ("forks:>0", ["widgets"]),
        ("stars:>0", []),
        ("created:<2020-01-01", []),
    ],
)
def test_repositories_are_found_by_name_and_property(query: str, found: list[str]) -> None:
    village = make_village()
    populate(village)
    owner, stranger = village.people["owner"], village.people["stranger"]
    village.act("owner", repositories.create, owner=owner, name="tool", description="A useful one", topics=("cli",))
    village.act("stranger", repositories.fork, village.widgets, owner=stranger)

    assert sorted(one.name for one in search_repositories(village.world, village.viewer("owner"), query)) == found
    village.world.close()


def test_commits_are_found_by_message_author_and_date(town: Village) -> None:
    viewer = town.viewer("owner")

    def messages(query: str) -> list[str]:
        return [one.commit.message.split("\n")[0] for one in search_commits(town.world, viewer, f"{query} {REPO}")]

    assert messages("fast merge:false") == ["Add fast"]
    assert messages("author:writer") == ["Add fast"]
    assert messages("author:nosuch") == []
    assert messages('"initial commit"') == ["Initial commit"]
    assert messages("committer-date:<2020-01-01") == []
    assert len(messages("author-date:2026")) == 3


def test_files_are_found_by_content_and_path(town: Village) -> None:
    viewer = town.viewer("owner")

    def paths(query: str) -> list[str]:
        return [one.path for one in search_code(town.world, viewer, f"{query} {REPO}")]

    assert paths("works") == ["fast.py"]
    assert paths("works extension:md") == []
    assert paths("works language:python path:/") == ["fast.py"]
    assert paths("widgets filename:readme") == ["README.md"]
    assert paths("fast in:path") == ["fast.py"]
    (match,) = search_code(town.world, viewer, f"works {REPO}")
    ((text, start, end),) = match.fragments[0].hits
    assert match.fragments[0].text[start:end] == text == "works"


def test_accounts_are_found_by_login_and_type(town: Village) -> None:
    def logins(query: str) -> list[str]:
        return [user.login for user in search_users(town.world, town.viewer("owner"), query)]

    assert logins("read") == ["reader"]
    assert logins("type:org") == ["acme"]
    assert logins("repos:>0") == ["acme"]
    assert logins("nobody") == []


def test_a_team_is_asked_for_a_review_and_so_are_its_members() -> None:
    village = make_village()
    team = village.act("owner", users.create_team, village.acme, name="core")
    village.act("owner", users.add_team_member, team, village.people["member"])
    village.act("owner", users.add_team_repository, team, village.widgets, "write")
    pull = open_pull(village, "writer", "x", title="X", body="@acme/core please")
    village.act("owner", reviews.request_reviews, pull, teams=[team])

    assert numbers(village, "review-requested:member") == [1]
    assert numbers(village, "user-review-requested:member") == []
    assert numbers(village, "team-review-requested:acme/core") == [1]
    assert numbers(village, "team:acme/core") == [1]
    village.world.close()


def test_issues_of_a_repository_that_has_none_are_not_found(town: Village) -> None:
    fork = town.world.fork()
    village = replace(town, world=fork)
    village.act("owner", repositories.update, village.widgets, has_issues=False)

    assert set(numbers(village, REPO)) == {5, 6, 7}
    fork.close()


LETTERS = st.text(alphabet="aAkKsSiIfFtT\u017f\u212a\u00df\ufb01\u0130_ -é", max_size=8)  # some fold to ASCII


@settings(max_examples=settings.default.max_examples, deadline=None)
@given(texts=st.lists(st.tuples(LETTERS, LETTERS, LETTERS), min_size=1, max_size=4), words=LETTERS)
def test_words_are_found_whatever_letters_surround_them(
    town: Village, texts: list[tuple[str, str, str]], words: str
) -> None:
    needles = [split_words(word) for word in words.split()]
    fork = town.world.fork()
    village = replace(town, world=fork)
    wanted: set[int] = set()
    for title, body, comment in texts:
        made = village.act("owner", issues.create, village.widgets, title=f"{title} .", body=body)
        with suppress(InvalidRefusal):  # an empty comment
            village.act("owner", comments.create, made, comment)
        said = [one.body for one in fork.database.all(Comment, issue_id=made.id)]
        found = [split_words(text) for text in (f"{title} .", body, *said)]
        if all(any(contains_words(text, needle) for text in found) for needle in needles):
            wanted.add(made.number)

    quoted = " ".join(f'"{word}"' for word in words.split())
    assert {one.number for one in search_issues(fork, None, f"{REPO} {quoted}")} >= wanted
    assert {number for number in numbers(village, f"{REPO} {quoted}") if number > 7} == wanted
    fork.close()
