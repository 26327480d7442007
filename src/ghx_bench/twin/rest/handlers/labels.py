"""Labels and milestones of a repository."""

from collections.abc import Callable

from ghx_bench.twin.commands import labels, milestones
from ghx_bench.twin.commands.kernel import UNSET
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer, created
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.handlers.ordering import Keys, ordered
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import labels as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Issue, Label, Milestone

_STATES = ("open", "closed")


def list_labels(request: RestRequest) -> Answer:
    """List labels for a repository."""
    found = request.world.database.all(Label, repository_id=located.repository(request).id)
    return listed(request, found, lambda one: render.label(request.view, one))


def create_label(request: RestRequest) -> Answer:
    """Create a label."""
    home, body = located.repository(request), request.body()
    name, color = body.required_text("name"), body.text("color")
    with request.acting() as act:
        made = labels.create(act, home, name=name, color=color, description=body.text("description"))
    shown = render.label(request.view, made)
    return created(shown, shown["url"])


def get_label(request: RestRequest) -> Answer:
    """Get a label."""
    return Answer(body=render.label(request.view, located.label(request)))


def update_label(request: RestRequest) -> Answer:
    """Update a label."""
    found, body = located.label(request), request.body()
    name, color = body.text("new_name") or body.text("name"), body.text("color")
    description = body.text("description") if "description" in body else UNSET
    with request.acting() as act:
        changed = labels.update(
            act,
            found,
            name=UNSET if name is None else name,
            color=UNSET if color is None else color,
            description=description,
        )
    return Answer(body=render.label(request.view, changed))


def delete_label(request: RestRequest) -> Answer:
    """Delete a label."""
    found = located.label(request)
    with request.acting() as act:
        labels.delete(act, found)
    return NO_CONTENT


def list_milestones(request: RestRequest) -> Answer:
    """List milestones."""
    found = request.world.database.all(Milestone, repository_id=located.repository(request).id)
    state = request.query.get("state", "open")
    chosen = [one for one in found if state in {"all", one.state}]
    keys: Keys[Milestone] = {"due_on": _due, "completeness": _completeness(request)}
    chosen = ordered(request, chosen, keys, "due_on", "asc")
    return listed(request, chosen, lambda one: render.milestone(request.view, one))


def create_milestone(request: RestRequest) -> Answer:
    """Create a milestone."""
    home, body = located.repository(request), request.body()
    title, state = body.required_text("title"), body.choice("state", _STATES) or "open"
    with request.acting() as act:
        made = milestones.create(
            act, home, title=title, state=state, description=body.text("description"), due_on=body.text("due_on")
        )
    shown = render.milestone(request.view, made)
    return created(shown, shown["url"])


def get_milestone(request: RestRequest) -> Answer:
    """Get a milestone."""
    return Answer(body=render.milestone(request.view, located.milestone(request)))


def update_milestone(request: RestRequest) -> Answer:
    """Update a milestone."""
    found, body = located.milestone(request), request.body()
    title, state = body.text("title"), body.choice("state", _STATES)
    with request.acting() as act:
        changed = milestones.update(
            act,
            found,
            title=UNSET if title is None else title,
            state=UNSET if state is None else state,
            description=body.text("description") if "description" in body else UNSET,
            due_on=body.text("due_on") if "due_on" in body else UNSET,
        )
    return Answer(body=render.milestone(request.view, changed))


def delete_milestone(request: RestRequest) -> Answer:
    """Delete a milestone."""
    found = located.milestone(request)
    with request.acting() as act:
        milestones.delete(act, found)
    return NO_CONTENT


def list_milestone_labels(request: RestRequest) -> Answer:
    """List labels for issues in a milestone."""
    rest = (
        "WHERE id IN (SELECT label_id FROM issue_labels JOIN issues ON issues.id = issue_labels.issue_id "
        "WHERE issues.milestone_id = ?) ORDER BY id"
    )
    found = request.world.database.select(Label, rest, (located.milestone(request).id,))
    return listed(request, found, lambda one: render.label(request.view, one))


def _due(milestone: Milestone) -> str:
    return milestone.due_on or "~"  # those without a date come last


def _completeness(request: RestRequest) -> Callable[[Milestone], float]:
    def share(milestone: Milestone) -> float:
        counts = request.world.database
        closed = counts.count(Issue, milestone_id=milestone.id, state="closed")
        return closed / (counts.count(Issue, milestone_id=milestone.id) or 1)

    return share
