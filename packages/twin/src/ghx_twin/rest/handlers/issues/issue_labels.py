"""Labels on one issue."""

from typing import Any, cast

from ghx_twin.commands import issues
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal, PlainNotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.handlers.issues.issues import label_names
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.issues import issues as render
from ghx_twin.rest.render.issues.labels import label as render_label
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue, IssueLabel

MISSING_LABEL = "Label does not exist"


def list_labels(request: RestRequest) -> Reply:
    """List labels for an issue."""
    labels = render.labels_of(request.view, from_path.issue(request))
    return list_reply(request, labels, lambda one: render_label(request.view, one))


def add_labels(request: RestRequest) -> Reply:
    """Add labels to an issue."""
    issue, home, names = from_path.issue(request), from_path.repository(request), _names(request)
    if not names and isinstance(request.json(), dict):  # an empty array alone adds nothing, and is no mistake
        raise InvalidRefusal("Invalid request.\n\n1 item required; only 0 were supplied.")
    with request.acting() as act:
        issue = issues.add_labels(act, issue, issues.find_labels(act, home, names, create_missing=True))
    return _labels_reply(request, issue)


def set_labels(request: RestRequest) -> Reply:
    """Set labels for an issue."""
    issue, home, names = from_path.issue(request), from_path.repository(request), _names(request)
    with request.acting() as act:
        issue = issues.set_labels(act, issue, issues.find_labels(act, home, names, create_missing=True))
    return _labels_reply(request, issue)


def remove_labels(request: RestRequest) -> Reply:
    """Remove all labels from an issue."""
    issue = from_path.issue(request)
    with request.acting() as act:
        issues.set_labels(act, issue, [])
    return no_content()


def remove_label(request: RestRequest) -> Reply:
    """Remove a label from an issue."""
    issue, home = from_path.issue(request), from_path.repository(request)
    try:
        label = lookup.label(request.world, home, request.text("name"))
    except NotFoundRefusal:
        raise PlainNotFoundRefusal(MISSING_LABEL) from None
    if request.world.database.one(IssueLabel, issue_id=issue.id, label_id=label.id) is None:
        raise PlainNotFoundRefusal(MISSING_LABEL)
    with request.acting() as act:
        issue = issues.remove_labels(act, issue, [label])
    return _labels_reply(request, issue)


def _names(request: RestRequest) -> list[str]:
    """Read `{"labels": [...]}`, a bare array or a single name; GitHub takes all three."""
    value = request.json()
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("labels", [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise InvalidRefusal('Invalid request.\n\nNo subschema in "oneOf" matched.')
    return label_names(cast("list[object]", value))


def _labels_reply(request: RestRequest, issue: Issue) -> Reply:
    return json_reply([render_label(request.view, label) for label in render.labels_of(request.view, issue)])
