"""Labels on one issue."""

from typing import Any, cast

from ghx_bench.twin.commands import issues
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal, NotFoundRefusal, PlainNotFoundRefusal
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.handlers.issues import label_names
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import issues as render
from ghx_bench.twin.rest.render.labels import label as render_label
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Issue, IssueLabel

MISSING_LABEL = "Label does not exist"


def list_labels(request: RestRequest) -> Answer:
    """List labels for an issue."""
    found = render.labels_of(request.view, located.issue(request))
    return listed(request, found, lambda one: render_label(request.view, one))


def add_labels(request: RestRequest) -> Answer:
    """Add labels to an issue."""
    found, home, names = located.issue(request), located.repository(request), _names(request)
    with request.acting() as act:
        found = issues.add_labels(act, found, issues.find_labels(act, home, names, create_missing=True))
    return _shown(request, found)


def set_labels(request: RestRequest) -> Answer:
    """Set labels for an issue."""
    found, home, names = located.issue(request), located.repository(request), _names(request)
    with request.acting() as act:
        found = issues.set_labels(act, found, issues.find_labels(act, home, names, create_missing=True))
    return _shown(request, found)


def remove_labels(request: RestRequest) -> Answer:
    """Remove all labels from an issue."""
    found = located.issue(request)
    with request.acting() as act:
        issues.set_labels(act, found, [])
    return NO_CONTENT


def remove_label(request: RestRequest) -> Answer:
    """Remove a label from an issue."""
    found, home = located.issue(request), located.repository(request)
    try:
        label = lookup.label(request.world, home, request.text("name"))
    except NotFoundRefusal:
        raise PlainNotFoundRefusal(MISSING_LABEL) from None
    if request.world.database.one(IssueLabel, issue_id=found.id, label_id=label.id) is None:
        raise PlainNotFoundRefusal(MISSING_LABEL)
    with request.acting() as act:
        found = issues.remove_labels(act, found, [label])
    return _shown(request, found)


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


def _shown(request: RestRequest, issue: Issue) -> Answer:
    return Answer(body=[render_label(request.view, label) for label in render.labels_of(request.view, issue)])
