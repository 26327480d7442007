"""Rulesets gate pushes and merges, for those who cannot bypass them."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import users
from ghx_twin.commands.actions import checks
from ghx_twin.commands.pulls import merges, reviews, threads
from ghx_twin.commands.repositories import contents, refs, rulesets
from ghx_twin.queries.pulls import mergeability
from ghx_twin.queries.pulls.reviews import review_decision
from ghx_twin.refusals import (
    ConflictRefusal,
    InvalidRefusal,
    NotAllowedRefusal,
    NotFoundRefusal,
    NotImplementedRefusal,
)
from ghx_twin.state.records import Pull, Ruleset, Thread

HEADING = "Repository rule violations found\n\n"


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def rule(shop: Shop, *rules: str | Mapping[str, Any], include: str = "~DEFAULT_BRANCH", **fields: Any) -> Ruleset:
    wanted = [{"type": each} if isinstance(each, str) else each for each in rules]
    with shop.acting(None) as act:
        return rulesets.create(
            act,
            shop.repository,
            **{"name": f"rules for {include}", "conditions": {"ref_name": {"include": [include]}}, "rules": wanted}
            | fields,
        )


def pull_rule(**parameters: Any) -> dict[str, Any]:
    return {"type": "pull_request", "parameters": parameters}


def pattern(kind: str, operator: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": {"operator": operator, "pattern": text, **more}}


def push(shop: Shop, branch: str, files: dict[str, str | None], message: str = "Change", login: str = "bob") -> None:
    with shop.acting(login) as act:
        home, git = shop.repository, act.git(shop.repository)
        old = git.ref(f"refs/heads/{branch}")
        sha = shop.commit(act, home, old or git.ref("refs/heads/main"), files, message)
        if old:
            refs.update(act, home, ref=f"refs/heads/{branch}", sha=sha, force=True)
        else:
            refs.create(act, home, ref=f"refs/heads/{branch}", sha=sha)


def violation(shop: Shop, branch: str, *, message: str = "Change", path: str = "new.txt", text: str = "x") -> str:
    with pytest.raises(InvalidRefusal) as caught:
        push(shop, branch, {path: text}, message)
    assert caught.value.message.startswith(HEADING)
    return caught.value.message.removeprefix(HEADING).strip()


def merge_refusal(shop: Shop, pull: Pull, method: Any = "merge", login: str = "bob") -> str:
    with pytest.raises(NotAllowedRefusal) as caught, shop.acting(login) as act:
        merges.merge(act, pull, method=method)
    return caught.value.message.removeprefix(HEADING).strip()


def approve(shop: Shop, pull: Pull, login: str) -> None:
    with shop.acting(login) as act:
        reviews.create(act, pull, event="APPROVE")


def test_creations_updates_and_deletions_are_restricted_by_the_names_of_refs(shop: Shop) -> None:
    shop.write("release/1", {"a": "a"})
    rule(shop, "creation", "update", "deletion", include="refs/heads/release/*")

    assert violation(shop, "release/2") == "Cannot create ref due to creations being restricted."
    assert violation(shop, "release/1") == "Cannot update this protected ref."
    with pytest.raises(InvalidRefusal, match="Cannot delete this branch"), shop.acting("bob") as act:
        refs.delete(act, shop.repository, ref="refs/heads/release/1")
    push(shop, "other/1", {"a": "b"})


def test_an_excluded_ref_is_free(shop: Shop) -> None:
    conditions = {"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/free/**"]}}
    rule(shop, "creation", conditions=conditions)

    push(shop, "free/one/two", {"a": "a"})
    assert "creations being restricted" in violation(shop, "bound")


@pytest.mark.parametrize("enforcement", ["disabled", "evaluate"])
def test_a_ruleset_that_is_not_active_binds_nobody(shop: Shop, enforcement: str) -> None:
    rule(shop, "update", enforcement=enforcement)

    push(shop, "main", {"a": "a"})


def test_history_is_not_rewritten_where_it_must_not(shop: Shop) -> None:
    start = shop.tip("main")
    shop.write("main", {"a": "a"})
    rule(shop, "non_fast_forward")

    with pytest.raises(InvalidRefusal, match="Cannot force-push to this branch"), shop.acting("adm") as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=start, force=True)
    push(shop, "main", {"b": "b"})


def test_the_contents_of_a_branch_for_pull_requests_are_a_conflict(shop: Shop) -> None:
    rule(shop, pull_rule())

    with pytest.raises(ConflictRefusal) as caught, shop.acting("adm") as act:
        contents.put(act, shop.repository, path="a", content=b"a")
    assert caught.value.message == f"{HEADING}Changes must be made through a pull request.\n\n"


def test_merge_commits_are_refused_and_listed(shop: Shop) -> None:
    rule(shop, "required_linear_history")
    pull = shop.open()
    with shop.acting("bob") as act:
        git = act.git(shop.repository)
        tree = git.merge(shop.tip("main"), pull.head_sha)
        commit = git.commit(pull.head_sha)
        assert tree
        assert commit
        both = git.write_commit(
            tree=tree,
            parents=(shop.tip("main"), pull.head_sha),
            message="Merge",
            author=commit.author,
            committer=commit.author,
        )
    with pytest.raises(InvalidRefusal) as caught, shop.acting("bob") as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=both)

    assert caught.value.message == (
        f"{HEADING}This branch must not contain merge commits.\n  Found 1 violation:\n\n  {both}\n\n"
    )
    assert merge_refusal(shop, pull) == "This branch must not contain merge commits."
    with shop.acting("bob") as act:
        merges.merge(act, pull, method="squash")


def test_messages_addresses_and_names_follow_patterns(shop: Shop) -> None:
    rule(
        shop,
        pattern("commit_message_pattern", "regex", r"^(feat|fix): "),
        pattern("commit_author_email_pattern", "ends_with", "@evil.example", negate=True),
        pattern("branch_name_pattern", "starts_with", "feature/"),
        include="~ALL",
    )

    found = violation(shop, "topic")

    assert "Branch name must start with a matching pattern: feature/" in found
    assert r"Commit message must match a given regex pattern: ^(feat|fix): " in found
    assert "email" not in found
    push(shop, "feature/1", {"a": "a"}, "feat: it")


def test_no_pattern_can_be_made_to_hang(shop: Shop) -> None:
    rule(shop, pattern("commit_message_pattern", "regex", "(a+)+$"), include="~ALL")

    with pytest.raises(InvalidRefusal, match="must match a given regex"):
        push(shop, "slow", {"b.txt": "b"}, "a" * 60 + "!")


def test_commits_that_a_branch_has_already_are_not_looked_at_again(shop: Shop) -> None:
    shop.write("old", {"a": "a"}, "no prefix")
    rule(shop, pattern("commit_message_pattern", "contains", "fix"), include="~ALL")

    with shop.acting("bob") as act:
        refs.create(act, shop.repository, ref="refs/heads/copy", sha=shop.tip("old"))


def test_a_squashed_message_is_looked_at(shop: Shop) -> None:
    rule(shop, pattern("commit_message_pattern", "starts_with", "fix"))
    pull = shop.open()

    assert "Commit message must start with a matching pattern: fix" in merge_refusal(shop, pull, "squash")
    with shop.acting("bob") as act:
        merges.merge(act, pull, method="squash", title="fix it")


@pytest.mark.parametrize(
    ("kind", "parameters", "file", "sentence"),
    [
        ("file_path_restriction", {"restricted_file_paths": [".github/**"]}, (".github/w.yml", "x"), "is restricted"),
        ("file_extension_restriction", {"restricted_file_extensions": ["*.exe"]}, ("a/b.exe", "x"), "extension"),
        ("max_file_path_length", {"max_file_path_length": 5}, ("longer.txt", "x"), "longer than 5 characters"),
        ("max_file_size", {"max_file_size": 1}, ("big", "x" * (1024 * 1024 + 1)), "larger than 1 MB"),
    ],
)  # fmt: skip
def test_pushes_to_any_ref_keep_to_the_rules_on_files(
    shop: Shop, kind: str, parameters: dict[str, Any], file: tuple[str, str], sentence: str
) -> None:
    rule(shop, {"type": kind, "parameters": parameters}, target="push", conditions={})

    path, text = file
    found = violation(shop, "any", path=path, text=text)

    assert sentence in found
    assert path in found
    push(shop, "any", {"ok": "x"})


def test_unsigned_commits_are_refused_where_signatures_are_required(shop: Shop) -> None:
    rule(shop, "required_signatures")

    assert "Commits must have verified signatures." in violation(shop, "main")
    assert mergeability.merge_state(shop.world, shop.open()) == "BLOCKED"


def test_tags_have_rules_of_their_own(shop: Shop) -> None:
    rule(shop, "deletion", pattern("tag_name_pattern", "regex", r"^v\d+$"), target="tag", include="refs/tags/*")
    with shop.acting("bob") as act:
        refs.create(act, shop.repository, ref="refs/tags/v1", sha=shop.tip("main"))

    for change, sentence in (
        (lambda act: refs.delete(act, shop.repository, ref="refs/tags/v1"), "Cannot delete this tag"),
        (
            lambda act: refs.create(act, shop.repository, ref="refs/tags/one", sha=shop.tip("main")),
            "Tag name must match a given regex pattern",
        ),
    ):
        with pytest.raises(InvalidRefusal, match=sentence), shop.acting("adm") as act:
            change(act)


def test_approvals_threads_and_methods_gate_merging(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting("ann") as act:
        note = threads.create(act, pull, path="poem.txt", body="Why?", line=15)
    rule(
        shop,
        pull_rule(
            required_approving_review_count=1,
            required_review_thread_resolution=True,
            allowed_merge_methods=["squash"],
        ),
    )

    assert review_decision(shop.world, pull) == "REVIEW_REQUIRED"
    assert mergeability.merge_state(shop.world, pull) == "BLOCKED"
    assert merge_refusal(shop, pull) == "Merge commits are not allowed on this repository."
    assert merge_refusal(shop, pull, "squash") == (
        "At least 1 approving review is required by reviewers with write access.\n\n"
        "A conversation must be resolved before this pull request can be merged."
    )
    approve(shop, pull, "bob")
    assert mergeability.merge_state(shop.world, pull) == "BLOCKED"
    with shop.acting("bob") as act:
        threads.resolve(act, act.database.all(Thread, id=note.thread_id)[0])
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    with shop.acting("bob") as act:
        merges.merge(act, pull, method="squash")


def test_a_push_dismisses_approvals_where_a_rule_says_so(shop: Shop) -> None:
    pull = shop.open()
    rule(shop, pull_rule(required_approving_review_count=1, dismiss_stale_reviews_on_push=True))
    approve(shop, pull, "bob")

    shop.write("feature", {"more": "x"})

    assert review_decision(shop.world, shop.fresh(pull)) == "REVIEW_REQUIRED"


def test_the_last_pusher_does_not_approve_their_own_push(shop: Shop) -> None:
    pull = shop.open()
    rule(shop, pull_rule(require_last_push_approval=True))
    push(shop, "feature", {"more": "x"}, login="bob")
    approve(shop, shop.fresh(pull), "bob")

    assert "other than the last pusher" in merge_refusal(shop, pull)
    approve(shop, shop.fresh(pull), "adm")
    with shop.acting("bob") as act:
        merges.merge(act, shop.fresh(pull))


def test_code_owners_of_changed_files_must_approve(shop: Shop) -> None:
    shop.write("main", {".github/CODEOWNERS": "* @ann\n/poem.txt @adm # the poet\ndocs/ @rea\n"})
    pull = shop.open()
    rule(shop, pull_rule(require_code_owner_review=True))
    approve(shop, pull, "bob")

    assert merge_refusal(shop, pull) == "Waiting on code owner review from adm."
    approve(shop, pull, "adm")
    with shop.acting("bob") as act:
        merges.merge(act, pull)


def test_required_checks_gate_merges_and_pushes(shop: Shop) -> None:
    wanted = {"required_status_checks": [{"context": "ci"}], "strict_required_status_checks_policy": True}
    pull = shop.open()
    rule(shop, {"type": "required_status_checks", "parameters": wanted})

    assert mergeability.is_required(shop.world, pull, "ci")
    assert merge_refusal(shop, pull) == 'Required status check "ci" is expected.'
    assert violation(shop, "main") == 'Required status check "ci" is expected.'
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=pull.head_sha, state="success", context="ci")
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    shop.write("main", {"x": "x"})
    assert mergeability.merge_state(shop.world, pull) == "BEHIND"


def test_only_named_actors_bypass_and_some_only_by_pull_requests(shop: Shop) -> None:
    role, user = {"actor_type": "RepositoryRole", "actor_id": 5}, {"actor_type": "User"}
    actors = [role, user | {"actor_id": shop.people["bob"].id, "bypass_mode": "pull_request"}]
    rule(shop, "update", bypass_actors=actors)
    pull = shop.open()

    push(shop, "main", {"a": "a"}, login="adm")
    assert violation(shop, "main") == "Cannot update this protected ref."
    assert mergeability.merge_state(shop.world, pull) == "BLOCKED"
    with shop.acting("bob") as act:
        merges.merge(act, pull)


def test_rules_of_an_organization_hold_in_the_repositories_it_names(shop: Shop) -> None:
    with shop.acting(None) as act:
        acme = users.create_organization(act, login="initech", name="Initech")
        rulesets.create(
            act,
            acme,
            name="org",
            conditions={"ref_name": {"include": ["~ALL"]}, "repository_name": {"include": ["wid*"]}},
            rules=[{"type": "creation"}],
        )
        home = act.database.update(shop.repository, owner_id=acme.id)
    with pytest.raises(InvalidRefusal, match="creations being restricted"), shop.acting("bob") as act:
        refs.create(act, home, ref="refs/heads/new", sha=act.git(home).ref("refs/heads/main") or "")


def test_what_cannot_be_enforced_is_not_stored(shop: Shop) -> None:
    with pytest.raises(NotImplementedRefusal, match="merge_queue"):
        rule(shop, "merge_queue")
    for wrong in (
        {"type": "none"},
        {"type": []},
        pull_rule(required_approving_review_count="1"),
        pattern("commit_message_pattern", "regex", "("),
        pattern("commit_message_pattern", "regex", r"(a)\1"),
        pattern("commit_message_pattern", "regex", "a" * 1001),
    ):
        with pytest.raises(InvalidRefusal, match="data matches no possible input"):
            rule(shop, wrong)
    paths = {"type": "file_path_restriction", "parameters": {"restricted_file_paths": ["[z-a]"]}}
    with pytest.raises(InvalidRefusal, match="data matches no possible input"):
        rule(shop, paths, target="push")
    with pytest.raises(InvalidRefusal):
        rule(shop, {"type": "max_file_size", "parameters": {"max_file_size": 1}})
    rule(shop, "update")
    with pytest.raises(InvalidRefusal):
        rule(shop, "update")


def test_only_administrators_change_rulesets_and_others_are_told_nothing(shop: Shop) -> None:
    made = rule(shop, "update")

    for change in (
        lambda act: rulesets.create(act, shop.repository, name="x", enforcement="active"),
        lambda act: rulesets.update(act, made, enforcement="disabled"),
        lambda act: rulesets.delete(act, made),
    ):
        with pytest.raises(NotFoundRefusal), shop.acting("bob") as act:
            change(act)
    with shop.acting("adm") as act:
        assert rulesets.update(act, made, enforcement="disabled").rules == made.rules
        rulesets.delete(act, made)
