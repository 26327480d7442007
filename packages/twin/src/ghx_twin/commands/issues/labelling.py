"""Labels on issues and pull requests."""

from collections.abc import Sequence

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.issues.labels import insert as insert_label
from ghx_twin.commands.texts import invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import may, require
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Issue, IssueLabel, Label, Repository
from ghx_twin.world import Act

MOST_LABELS = 100


def add_labels(act: Act, issue: Issue, labels: Sequence[Label]) -> Issue:
    """Add labels to an issue, next to those it has."""
    require(act, lookup.repository_of(act.world, issue), "triage")
    return attach_labels(act, issue, labels)


def remove_labels(act: Act, issue: Issue, labels: Sequence[Label]) -> Issue:
    """Remove labels from an issue; those it does not have are no error."""
    require(act, lookup.repository_of(act.world, issue), "triage")
    current = kernel.reload(act, issue)
    for label in labels:
        placed = act.database.one(IssueLabel, issue_id=current.id, label_id=label.id)
        if placed:
            act.database.delete(placed)
            timeline.record_event(act, current, "unlabeled", {"label": _label_data(label)})
            current = kernel.touch(act, current)
    return current


def set_labels(act: Act, issue: Issue, labels: Sequence[Label]) -> Issue:
    """Replace the labels of an issue."""
    ids = {label.id for label in labels}
    surplus = [label for label in labels_of(act, issue) if label.id not in ids]
    return add_labels(act, remove_labels(act, issue, surplus), labels)


def find_labels(act: Act, repository: Repository, names: Sequence[str], create_missing: bool) -> list[Label]:
    """Return labels by their names; REST creates missing ones for a viewer with the triage role."""
    return [_find_label(act, repository, name, create_missing) for name in dict.fromkeys(names)]


def attach_labels(act: Act, issue: Issue, labels: Sequence[Label]) -> Issue:
    """Add labels to an issue without a permission check."""
    current = kernel.reload(act, issue)
    for label in labels:
        if label.repository_id != current.repository_id:
            raise NotFoundRefusal(f"Could not resolve to a Label with the name '{label.name}'.")
        if act.database.one(IssueLabel, issue_id=current.id, label_id=label.id):
            continue
        if act.database.count(IssueLabel, issue_id=current.id) >= MOST_LABELS:
            raise InvalidRefusal(f"An issue can have at most {MOST_LABELS} labels.")
        act.database.insert(IssueLabel, issue_id=current.id, label_id=label.id)
        timeline.record_event(act, current, "labeled", {"label": _label_data(label)})
        current = kernel.touch(act, current)
    return current


def labels_of(act: Act, issue: Issue) -> list[Label]:
    """Return the labels of an issue in the order they were added."""
    return act.database.select(
        Label,
        "JOIN issue_labels AS placed ON placed.label_id = labels.id WHERE placed.issue_id = ? ORDER BY placed.id",
        (issue.id,),
    )


def _find_label(act: Act, repository: Repository, name: str, create_missing: bool) -> Label:
    try:
        return lookup.label(act.world, repository, name)
    except NotFoundRefusal:
        if not create_missing:
            raise
    if not may(act.world, act.viewer, repository, "triage"):
        raise invalid("Label", "name", value=name)
    return insert_label(act, repository, name=name)


def _label_data(label: Label) -> dict[str, object]:
    return {"id": label.id, "name": label.name, "color": label.color, "description": label.description}
