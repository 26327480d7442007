"""What an agent may change: the patterns of `allowedChanges`, and the kinds and fields that they can name.

A pattern is a kind of object (`comments`), or a kind and a field (`issues.state`). What kind of change it must be may
stand before it (`created issues`), and the object's name after it (`issues.state acme/widgets#7`,
`refs acme/widgets refs/heads/fix-*`). `*` stands for anything.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from ghx_base.documents import Complaint
from ghx_base.problems import Tokens, did_you_mean, listed, shortened
from ghx_base.texts.templates import MISSING, fill_text, follow
from ghx_bench.scenario.binding import misspelt, unbound
from ghx_bench.scenario.checkpoint_references import reference_of, unknown_checkpoint
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.placeholders import CHECKPOINTS, names_in, near_misses_in

Change = Literal["created", "changed", "deleted"]

COLLATERAL_CHECKPOINT = "no-collateral-damage"
"""The id of the check that nothing else was changed, which scenarios with `allowedChanges` have besides their own."""

REFS = "refs"

_ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object that patterns can name: the emulator's table of them, and the fields that can be changed."""

    table: str
    fields: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _kind(table: str, fields: str = "") -> Kind:
    return Kind(table, _words(fields))


# Written out, although the emulator's records could tell it: what scenarios are written in must not change when a table
# or a column of the emulator is renamed.
KINDS: Mapping[str, Kind] = {
    "actions_caches": _kind("actions_caches", "last_accessed_at size_in_bytes"),
    "artifacts": _kind("artifacts", "expired name"),
    "assignees": _kind("assignees"),
    "branch_protections": _kind(
        "protections",
        "allow_deletions allow_force_pushes dismiss_stale_reviews enforce_admins pattern required_approvals "
        "required_checks strict_checks",
    ),
    "check_runs": _kind(
        "check_runs", "completed_at conclusion details_url head_sha name started_at status summary title"
    ),
    "collaborators": _kind("collaborators", "role"),
    "comments": _kind("comments", "body minimized_reason"),
    "commit_comments": _kind("commit_comments", "body"),
    "commit_statuses": _kind("statuses", "description state target_url"),
    "deployment_reviews": _kind("deployment_reviews", "state"),
    "deployment_statuses": _kind("deployment_statuses", "description state"),
    "deployments": _kind("deployments", "description"),
    "draft_issues": _kind("draft_issues", "assignee_ids body title"),
    "environments": _kind("environments", "deployment_branch_policy name prevent_self_review reviewers wait_timer"),
    "issue_dependencies": _kind("dependencies"),
    "issue_labels": _kind("issue_labels"),
    "issues": _kind(
        "issues",
        "body closed_at closed_by duplicate_of issue_type lock_reason locked milestone parent pinned state "
        "state_reason sub_issue_position title",
    ),
    "issue_types": _kind("issue_types", "color description is_enabled name"),
    "labels": _kind("labels", "color description name"),
    "linked_branches": _kind("linked_branches", "name"),
    "memberships": _kind("memberships", "role"),
    "milestones": _kind("milestones", "closed_at description due_on state title"),
    "project_collaborators": _kind("project_collaborators", "role"),
    "project_fields": _kind("project_fields", "configuration name options"),
    "project_item_values": _kind("project_item_values", "value"),
    "project_items": _kind("project_items", "archived_at position"),
    "project_repositories": _kind("project_repositories"),
    "project_status_updates": _kind("project_status_updates", "body start_date status target_date"),
    "project_views": _kind("project_views", "filter group_by layout name sort_by vertical_group_by visible_fields"),
    "project_workflows": _kind("project_workflows", "enabled name"),
    "projects": _kind("projects", "closed_at public readme short_description template title"),
    "pulls": _kind(
        "pulls",
        "auto_merge base_ref base_sha draft head_ref head_repository head_sha maintainer_can_modify merge_commit_sha "
        "merged_at merged_by",
    ),
    "reactions": _kind("reactions"),
    REFS: _kind(REFS),
    "release_assets": _kind("release_assets", "label name"),
    "releases": _kind(
        "releases", "body created_at draft is_latest name prerelease published_at tag_name target_commitish"
    ),
    "repositories": _kind(
        "repositories",
        "allow_auto_merge allow_forking allow_merge_commit allow_rebase_merge allow_squash_merge allow_update_branch "
        "archived default_branch delete_branch_on_merge description has_discussions has_downloads has_issues has_pages "
        "has_projects has_wiki homepage is_template name owner parent topics visibility web_commit_signoff_required",
    ),
    "review_comments": _kind("review_comments", "body commit_sha minimized_reason"),
    "review_requests": _kind("review_requests"),
    "reviews": _kind("reviews", "body commit_sha state submitted_at"),
    "rulesets": _kind("rulesets", "bypass_actors conditions enforcement name rules target"),
    "secrets": _kind("secrets", "name selected_repository_ids updated_at visibility"),
    "team_members": _kind("team_members"),
    "team_repositories": _kind("team_repositories", "role"),
    "teams": _kind("teams", "description name privacy slug"),
    "threads": _kind("threads", "commit_sha diff_hunk line outdated path resolved_by side start_line start_side"),
    "users": _kind("users", "bio blog company email location login name"),
    "variables": _kind("variables", "name selected_repository_ids value visibility"),
    "workflow_run_attempts": _kind("run_attempts", "conclusion logs started_at status"),
    "workflow_runs": _kind("workflow_runs", "title"),
    "workflows": _kind("workflows", "name path state"),
}
"""What patterns can name, by the names that docs/scenarios.md gives them."""

PRIVATE_TABLES = frozenset(
    {"annotations", "apps", "events", "installations", "redirects", "steps", "tokens", "tombstones"}
)
"""Tables of the emulator that no pattern needs: what GitHub notes itself where something else is changed."""

PRIVATE_FIELDS = _words(
    "id repository created_at updated_at pushed_at next_number next_milestone_number number is_pull type site_admin "
    "default author creator actor user team organization issue pull label blocking review thread in_reply_to subject "
    "subject_kind content workflow run attempt context sha event head_branch head_sha subject_type "
    "original_commit_sha original_line original_position original_start_line position line path commit_sha release "
    "content_type size digest blob_sha uploader comment deployment environment environment_url key log_url payload "
    "production_environment ref task transient_environment version expires_at files inputs script built_in data_type "
    "draft_issue field item next_project_number owner project"
)
"""Fields that stay as they were made, or follow from another change; by the names that the twin's differences have."""

_PUBLIC_NAMES = {kind.table: name for name, kind in KINDS.items()}


def public_name(table: str) -> str:
    """Return what patterns call the objects of one of the emulator's tables; the table itself, if they do not."""
    return _PUBLIC_NAMES.get(table, table)


def _kind_named(name: str) -> Kind | None:
    """Return a kind by its name, or by that of its table, which files of version 0.1 have."""
    if name in KINDS:
        return KINDS[name]
    if name in PRIVATE_TABLES:
        return Kind(name)
    return KINDS[_PUBLIC_NAMES[name]] if name in _PUBLIC_NAMES else None


def check_ids(scenario: EvalScenario) -> frozenset[str]:
    """Return the ids of everything that is checked on the emulator, its own checkpoints and the last one."""
    own = frozenset(each.id for each in scenario.assertions.checkpoints)
    return own if scenario.known_extensions.allowed_changes is None else own | {COLLATERAL_CHECKPOINT}


def allowed_changes(
    scenario: EvalScenario, bindings: Mapping[str, JsonValue], outputs: Mapping[str, JsonValue]
) -> Sequence[str] | None:
    """Return the patterns with their variables replaced; None where nothing is said, and so everything is allowed."""
    patterns = scenario.known_extensions.allowed_changes
    return None if patterns is None else fill_patterns(patterns, bindings, outputs)


def fill_patterns(
    patterns: Iterable[str], bindings: Mapping[str, JsonValue], outputs: Mapping[str, JsonValue]
) -> list[str]:
    """Return patterns with their variables replaced.

    A pattern may name what a checkpoint returned, which is how it knows the number of what the agent has made. Where
    the checkpoint returned nothing of the kind, the pattern covers nothing.
    """

    def value_of(name: str) -> JsonValue:
        if not name.startswith(CHECKPOINTS):
            return bindings[name]
        reference = reference_of(name, outputs)
        value = MISSING if reference is None else follow(outputs[reference.checkpoint_id], reference.steps)
        if value is MISSING:
            raise KeyError(name)  # `fill_text` then leaves the placeholder, which no object's name matches
        return value

    return [fill_text(pattern, value_of) for pattern in patterns]


def pattern_errors(
    pattern: str, tokens: Tokens, scenario: EvalScenario, variables: Collection[str]
) -> Iterator[Complaint]:
    """Yield what is wrong with a pattern: an unknown change, kind or field, or a variable without a value."""
    yield from _kind_errors(_Pattern.read(pattern), tokens)
    for spelling, name in near_misses_in(pattern):
        yield misspelt(spelling, name, tokens, variables)
    ids = [each.id for each in scenario.assertions.checkpoints]
    for name in names_in(pattern):
        if name.startswith(CHECKPOINTS):
            if reference_of(name, ids) is None:
                yield unknown_checkpoint(name, tokens, ids)
        elif name not in variables:
            yield unbound(name, tokens, variables, has_fixture=scenario.fixture is not None)


def _kind_errors(pattern: "_Pattern", tokens: Tokens) -> Iterator[Complaint]:
    name, _, field = pattern.what.partition(".")
    if _ANYTHING in name:
        return
    kind = _kind_named(name)
    if kind is None and _kind_named(pattern.name.partition(" ")[0].partition(".")[0]):
        hint = did_you_mean(name, get_args(Change), otherwise="write 'created', 'changed' or 'deleted', or nothing")
        yield Complaint(tokens=tokens, reason=f"there is no change {shortened(name)}", suggestion=hint)
    elif kind is None:
        hint = did_you_mean(name, KINDS, otherwise=f"known: {listed(sorted(KINDS))}")
        yield Complaint(tokens=tokens, reason=f"{shortened(name)} is no kind of object on GitHub", suggestion=hint)
    elif field and _ANYTHING not in field and field not in kind.fields | PRIVATE_FIELDS:
        hint = did_you_mean(field, kind.fields, otherwise=f"known: {listed(sorted(kind.fields)) or 'none'}")
        yield Complaint(tokens=tokens, reason=f"{name} have no field {shortened(field)}", suggestion=hint)


def fits(pattern: str, change: str, what: str, name: str) -> bool:
    """Return whether a pattern covers a change: `created`, `changed` or `deleted`, of what, and of which object.

    `what` is a kind by its public name, with the field after a dot where one was changed.
    """
    parsed = _Pattern.read(pattern)
    kind, dot, field = what.partition(".")
    table = KINDS[kind].table if kind in KINDS else kind  # as files of version 0.1 name it
    spellings = (what, kind, f"{table}{dot}{field}", table)
    return (
        parsed.change in {None, change}
        and any(_matches(parsed.what, each) for each in spellings)
        and _matches(parsed.name, name)
    )


class _Pattern(NamedTuple):
    change: str | None
    what: str
    name: str

    @classmethod
    def read(cls, text: str) -> "_Pattern":
        first, _, rest = text.strip().partition(" ")
        change = first if first in get_args(Change) else None
        what, _, name = (rest.lstrip() if change else text.strip()).partition(" ")
        return cls(change, what, name.strip() or _ANYTHING)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANYTHING))), text, re.DOTALL) is not None
