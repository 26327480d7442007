"""What a push violates, in the words of GitHub's refusal; its commits are there already."""

from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from ghx_twin.git.objects import Commit, RefUpdate
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries.actions import checks
from ghx_twin.queries.repositories.globs import matches_path
from ghx_twin.queries.rulesets.applying import ActiveRule, rules_that_bind
from ghx_twin.queries.rulesets.rule_types import (
    PUSH_RULES,
    FileExtensionRule,
    FilePathRule,
    FileSizeRule,
    PathLengthRule,
    PatternRule,
    PlainRule,
    PullRequestRule,
    Rule,
    StatusCheckRule,
    UpdateRule,
)
from ghx_twin.state.records import Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

BYTES_PER_MEGABYTE = 1024 * 1024
UPDATE_REFUSED = "Cannot update this protected ref."
_COMMIT_SUBJECTS: dict[str, tuple[str, Callable[[Commit], str]]] = {
    "commit_message_pattern": ("Commit message", lambda commit: commit.message),
    "commit_author_email_pattern": ("Commit author email", lambda commit: commit.author.email),
    "committer_email_pattern": ("Committer email", lambda commit: commit.committer.email),
}
_NAME_SUBJECTS = {"branch_name_pattern": ("Branch name", "refs/heads/"), "tag_name_pattern": ("Tag name", "refs/tags/")}


def describe_violations(violations: Sequence[str]) -> str:
    """Return the message of REST's refusal."""
    return "Repository rule violations found\n\n" + "".join(f"{each}\n\n" for each in violations)


def push_violations(world: World, viewer: Viewer | None, repository: Repository, update: RefUpdate) -> list[str]:
    """Return what a viewer's change of a ref violates."""
    rules = rules_that_bind(world, viewer, repository, update.ref)
    if not rules:
        return []
    violations = [each for one in rules if (each := _ref_violation(world, repository, one.rule, update))]
    return list(dict.fromkeys(violations + content_violations(world, repository, rules, update)))


def content_violations(
    world: World, repository: Repository, rules: Iterable[ActiveRule], update: RefUpdate
) -> list[str]:
    """Return which of these rules the commits and files that a ref gets violate."""
    git = world.git(repository)
    relevant = [one.rule for one in rules if isinstance(one.rule, PatternRule) or one.rule.type in _READS_COMMITS]
    if not relevant or update.new is None or git.kind(update.new) not in {"commit", "tag"}:
        return []
    commits = _new_commits(git, update)
    return [each for rule in relevant if (each := _content_violation(git, rule, commits))]


_READS_COMMITS = PUSH_RULES | {"required_linear_history", "required_signatures"}


def _ref_violation(world: World, repository: Repository, rule: Rule, update: RefUpdate) -> str | None:
    """Return what the move of the ref itself violates of a rule, whatever its commits hold."""
    noun = "tag" if update.ref.startswith("refs/tags/") else "branch"
    moves, violation = update.old is not None and update.new is not None, None
    match rule:
        case PlainRule(type="creation") if update.old is None:
            violation = "Cannot create ref due to creations being restricted."
        case PlainRule(type="deletion") if update.new is None:
            violation = f"Cannot delete this {noun}"
        case PlainRule(type="non_fast_forward") if _is_forced(world.git(repository), update):
            violation = f"Cannot force-push to this {noun}"
        case UpdateRule() if moves:
            violation = UPDATE_REFUSED
        case PullRequestRule() if moves:
            violation = "Changes must be made through a pull request."
        case StatusCheckRule():
            violation = _check_violation(world, repository, rule, update)
        case PatternRule():
            violation = _name_violation(rule, update)
        case _:
            pass  # of what is in the commits, or not violated
    return violation


def _is_forced(git: GitRepository, update: RefUpdate) -> bool:
    if update.old is None or update.new is None:
        return False
    kinds = {git.kind(update.old), git.kind(update.new)}
    return kinds != {"commit"} or not git.is_ancestor(update.old, update.new)


def _check_violation(world: World, repository: Repository, rule: StatusCheckRule, update: RefUpdate) -> str | None:
    names = [check.context for check in rule.parameters.required_status_checks]
    if update.new is None or (update.old is None and rule.parameters.do_not_enforce_on_create):
        return None
    states = [checks.state_of_required(world, repository, update.new, name) for name in names]
    missing = [name for name, state in zip(names, states, strict=True) if state != "SUCCESS"]
    if not missing:
        return None
    if len(names) == 1:
        return f'Required status check "{names[0]}" is expected.'
    return f"{len(missing)} of {len(names)} required status checks are expected."


def _name_violation(rule: PatternRule, update: RefUpdate) -> str | None:
    if rule.type not in _NAME_SUBJECTS or update.old is not None or update.new is None:
        return None
    subject, prefix = _NAME_SUBJECTS[rule.type]
    name = update.ref.removeprefix(prefix)
    return None if name == update.ref or rule.parameters.accepts(name) else rule.parameters.describe(subject)


def _new_commits(git: GitRepository, update: RefUpdate) -> list[Commit]:
    """Return the commits that a ref gets: since its old target, or those of a new ref that no branch has yet."""
    assert update.new is not None  # noqa: S101 - the caller asked
    new = git.peel(update.new)
    if update.old is not None:
        return git.commits_between(git.peel(update.old), new)
    # By `state`, which shows the refs as they were before this push: two new branches of one push hide nothing.
    tips = [sha for name, sha in git.state().items() if name.startswith("refs/heads/")]
    start = next((sha for sha in tips if git.is_ancestor(sha, new)), None)
    fresh = git.commits_between(start, new)
    return [commit for commit in fresh if not any(git.is_ancestor(commit.sha, tip) for tip in tips)]


def _content_violation(git: GitRepository, rule: Rule, commits: Sequence[Commit]) -> str | None:
    match rule:
        case PlainRule(type="required_linear_history"):
            sentence = "This branch must not contain merge commits."
            wrong = [commit.sha for commit in commits if len(commit.parents) > 1]
        case PlainRule(type="required_signatures"):
            # No account of the emulator has a key, so that nobody's signature can be verified; GitHub's own commits are
            # made by merges and not pushed.
            sentence, wrong = "Commits must have verified signatures.", [commit.sha for commit in commits]
        case PatternRule() if rule.type in _COMMIT_SUBJECTS:
            subject, read = _COMMIT_SUBJECTS[rule.type]
            sentence = rule.parameters.describe(subject)
            wrong = [commit.sha for commit in commits if not rule.parameters.accepts(read(commit))]
        case FilePathRule() | FileExtensionRule() | FileSizeRule() | PathLengthRule():
            sentence, is_wrong = _file_test(rule)
            wrong = [path for path, size in _paths(git, commits).items() if is_wrong(path, size)]
        case _:
            return None
    if not wrong:
        return None
    noun = "violation" if len(wrong) == 1 else "violations"
    return "\n".join((sentence, f"  Found {len(wrong)} {noun}:", "", *(f"  {each}" for each in wrong)))


def _file_test(
    rule: FilePathRule | FileExtensionRule | FileSizeRule | PathLengthRule,
) -> tuple[str, Callable[[str, int | None], bool]]:
    """Return the sentence of a rule on files, and which paths and sizes violate it."""
    match rule:
        case FilePathRule():
            patterns = rule.parameters.restricted_file_paths
            return "File path is restricted", lambda path, _: any(matches_path(one, path) for one in patterns)
        case FileExtensionRule():
            endings = tuple(f".{each.lstrip('*.')}" for each in rule.parameters.restricted_file_extensions)
            return "File extension is restricted", lambda path, _: path.endswith(endings)
        case PathLengthRule():
            longest = rule.parameters.max_file_path_length
            return f"File path is longer than {longest} characters", lambda path, _: len(path) > longest
        case FileSizeRule():
            largest = rule.parameters.max_file_size
            return f"File is larger than {largest} MB", lambda _, size: (size or 0) > largest * BYTES_PER_MEGABYTE
        case _:
            assert_never(rule)


def _paths(git: GitRepository, commits: Sequence[Commit]) -> dict[str, int | None]:
    """Return the paths that commits change, each with the size of the file they leave there."""
    paths: dict[str, int | None] = {}
    for commit in commits:
        parent = commit.parents[0] if commit.parents else None
        for change in git.diff(parent, commit.sha, from_merge_base=False):
            entry = git.entry(commit.sha, change.path)
            paths[change.path] = entry.size if entry else None
            if change.previous_path:
                paths.setdefault(change.previous_path, None)
    return paths
