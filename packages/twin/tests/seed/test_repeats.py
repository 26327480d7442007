"""Entries of a seed that stand for many."""

import textwrap
import time

import pytest
from seeds import seed_of, world_of

from ghx_base.errors import DocumentError
from ghx_twin.queries import lookup
from ghx_twin.seed.building import SeedError
from ghx_twin.seed.document import SeedRepository, WorldSeed
from ghx_twin.seed.repeats import MOST_ENTRIES
from ghx_twin.state.records import Comment, Issue, Label, Milestone, Repository
from ghx_twin.world import World


def seed_with(repository: str) -> WorldSeed:
    head = "users: [{login: octo}]\nrepositories:\n  - name: octo/widgets\n    files: {a: b}\n"
    return seed_of(head + textwrap.indent(textwrap.dedent(repository), "    "))


def issues_in(world: World) -> list[Issue]:
    return world.database.all(Issue, repository_id=lookup.repository(world, None, "octo", "widgets").id)


def test_an_entry_stands_for_many_that_differ_in_their_number() -> None:
    seed = seed_with("""
        labels: [{name: bug}, {name: "area/{{n}}", description: "Area {{ n }}", repeat: 3}]
        milestones: [{title: "v{{n}}", repeat: 2}]
        issues:
          - {title: First}
          - {title: "Link {{n}}", body: "on {{n}}, ${{ n }} and {{m}}", labels: ["area/{{n}}"], repeat: 3}
          - {title: "Last {{n}}"}
    """)
    with world_of(seed) as world:
        assert [each.name for each in world.database.all(Label)] == ["bug", "area/1", "area/2", "area/3"]
        assert world.database.all(Label)[3].description == "Area 3"
        assert [each.title for each in world.database.all(Milestone)] == ["v1", "v2"]
        made = issues_in(world)
        assert [each.title for each in made] == ["First", "Link 1", "Link 2", "Link 3", "Last {{n}}"]
        assert [each.number for each in made] == [1, 2, 3, 4, 5]
        assert made[3].body == "on 3, ${{ n }} and {{m}}"


def test_numbers_follow_the_first_and_share_one_row_with_pull_requests() -> None:
    with world_of(seed_with('issues: [{title: "I{{n}}", number: 10, repeat: 3}, {title: Other, number: 1}]')) as world:
        assert {each.title: each.number for each in issues_in(world)} == {"I1": 10, "I2": 11, "I3": 12, "Other": 1}
    twice = 'issues: [{title: "I{{n}}", number: 10, repeat: 3}, {title: Other, number: 12}]'
    with pytest.raises(SeedError, match="number 12 is given twice"):
        world_of(seed_with(twice))


def test_times_move_on_for_each() -> None:
    seed = seed_with("""
        issues:
          - title: "I{{n}}"
            at: 2026-01-31T23:30:00Z
            state: closed
            closed_at: 2026-02-01T23:30:00Z
            comments: [{body: hm, at: 2026-02-01T00:00:00Z}]
            repeat: {times: 3, every_s: 3600}
    """)
    with world_of(seed) as world:
        last = issues_in(world)[-1]
        assert (last.created_at, last.closed_at) == ("2026-02-01T01:30:00Z", "2026-02-02T01:30:00Z")
        assert world.database.all(Comment, issue_id=last.id)[0].created_at == "2026-02-01T02:00:00Z"


def test_a_repeated_comment_has_a_number_of_its_own() -> None:
    seed = seed_with("""
        issues: [{title: "I{{n}}", comments: [{body: "about {{n}}"}, {body: "word {{n}}", repeat: 2}], repeat: 2}]
    """)
    with world_of(seed) as world:
        bodies = [each.body for each in world.database.all(Comment)]
        assert bodies == ["about 1", "word 1", "word 2", "about 2", "word 1", "word 2"]


def test_named_repeats_can_be_resized_and_nothing_else() -> None:
    seed = seed_with("""
        labels: [{name: "l{{n}}", repeat: {times: 2, name: labels}}]
        issues:
          - {title: "I{{n}}", comments: [{body: c, repeat: {times: 1, name: talk}}], repeat: {times: 2, name: issues}}
          - {title: "J{{n}}", repeat: 2}
    """)
    assert seed.sizes() == {"labels", "talk", "issues"}
    with world_of(seed.resized({"issues": 3, "talk": 2, "labels": 0})) as world:
        assert [each.title for each in issues_in(world)] == ["I1", "I2", "I3", "J1", "J2"]
        assert world.database.count(Comment) == 6
        assert world.database.count(Label) == 0


def test_a_repository_is_there_or_not() -> None:
    seed = seed_of("""
        users: [{login: octo}, {login: ada}]
        repositories:
          - {name: octo/widgets, files: {a: b}, issues: [{title: "I{{n}}", repeat: 2}]}
          - {name: ada/widgets, fork_of: octo/widgets, repeat: {times: 0, name: fork}}
    """)
    with world_of(seed) as world:
        assert [each.name for each in world.database.all(Repository)] == ["widgets"]
    with world_of(seed.resized({"fork": 1})) as world:
        assert world.database.count(Repository) == 2
    with pytest.raises(SeedError, match=r"ada/widgets: .*0 or 1"):
        world_of(seed.resized({"fork": 2}))


def test_a_seed_without_repeats_is_planted_as_it_is_written() -> None:
    repository = seed_with("issues: [{title: One, comments: [{body: c}]}]").repositories[0]

    assert repository.written_out() == repository


@pytest.mark.parametrize(
    ("written", "pointer", "words"),
    [
        ("labels: [{name: same, repeat: 2}]", "/repositories/0/labels/0/name", "put {{n}} into it"),
        ("milestones: [{title: same, repeat: 2}]", "/repositories/0/milestones/0/title", "put {{n}} into it"),
        ("issues: [{title: x, repeat: -1}]", "/repositories/0/issues/0/repeat", "0"),
        ("issues: [{title: x, repeat: 10001}]", "/repositories/0/issues/0/repeat", "10000"),
        ("issues: [{title: x, repeat: many}]", "/repositories/0/issues/0/repeat", "an integer or an object"),
        ("issues: [{title: x, repeat: {times: 2, nam: a}}]", "/repositories/0/issues/0/repeat/nam", "'name'"),
        ("repeat: 2", "/repositories/0/repeat", "write 0 or 1"),
        ("pulls: [{title: x, head: y, repeat: 2}]", "/repositories/0/pulls/0/repeat", "unknown key"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written: str, pointer: str, words: str) -> None:
    with pytest.raises(DocumentError) as refused:
        seed_with(written)

    (problem,) = refused.value.problems
    assert problem.pointer == pointer
    assert words in str(problem)


def test_more_than_can_be_planted_is_refused_before_it_is() -> None:
    comments = "comments: [{body: c, repeat: 10000}]"
    seed = seed_with(f"issues: [{{title: x, repeat: 10000, {comments}}}]")

    with pytest.raises(SeedError, match=rf"octo/widgets: issues: .*{MOST_ENTRIES:,}"):
        world_of(seed)


def test_times_have_an_end() -> None:
    with pytest.raises(SeedError, match="every_s"):
        world_of(seed_with("issues: [{title: x, at: 2026-01-01T00:00:00Z, repeat: {times: 9999, every_s: 31622400}}]"))


def test_writing_out_a_thousand_issues_takes_hardly_any_time() -> None:
    issue = {"title": "Link {{n}}", "body": "Page {{n}}", "labels": ["bug"], "repeat": 1000}
    repository = SeedRepository.model_validate({"name": "octo/widgets", "issues": [issue]})
    began = time.process_time()

    assert len(repository.written_out().issues) == 1000

    assert time.process_time() - began < 0.5
