"""Labels and milestones of a repository."""

from collections.abc import Callable

from ghx_bench.twin.commands import labels, milestones
from ghx_bench.twin.commands.kernel import UNSET
from ghx_bench.twin.reply import Reply, created, json_reply, no_content
from ghx_bench.twin.rest.handlers import from_path
from ghx_bench.twin.rest.pagination import Keys, list_reply, sort_items
from ghx_bench.twin.rest.render import labels as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Issue, Label, Milestone
from ghx_bench.twin.state.rows import Rows

_STATES = ("open", "closed")


def list_labels(request: RestRequest) -> Reply:
    """List labels for a repository."""
    home = from_path.repository(request)
    found = Rows(request.world.database, Label, "WHERE repository_id = ? ORDER BY id", (home.id,))
    return list_reply(request, found, lambda one: render.label(request.view, one))


def create_label(request: RestRequest) -> Reply:
    """Create a label."""
    home, body = from_path.repository(request), request.body()
    name, color = body.required_text("name"), body.text("color")
    with request.acting() as act:
        made = labels.create(act, home, name=name, color=color, description=body.text("description"))
    shown = render.label(request.view, made)
    return created(shown, shown["url"])


def get_label(request: RestRequest) -> Reply:
    """Get a label."""
    return json_reply(render.label(request.view, from_path.label(request)))


def update_label(request: RestRequest) -> Reply:
    """Update a label."""
    found, body = from_path.label(request), request.body()
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
    return json_reply(render.label(request.view, changed))


def delete_label(request: RestRequest) -> Reply:
    """Delete a label."""
    found = from_path.label(request)
    with request.acting() as act:
        labels.delete(act, found)
    return no_content()


def list_milestones(request: RestRequest) -> Reply:
    """List milestones."""
    found = request.world.database.all(Milestone, repository_id=from_path.repository(request).id)
    state = request.query.get("state", "open")
    chosen = [one for one in found if state in {"all", one.state}]
    # "~" sorts after every date: milestones without one come last.
    keys: Keys[Milestone] = {"due_on": lambda one: one.due_on or "~", "completeness": _completeness(request)}
    chosen = sort_items(request, chosen, keys, "due_on", "asc")
    return list_reply(request, chosen, lambda one: render.milestone(request.view, one))


def create_milestone(request: RestRequest) -> Reply:
    """Create a milestone."""
    home, body = from_path.repository(request), request.body()
    title, state = body.required_text("title"), body.choice("state", _STATES) or "open"
    with request.acting() as act:
        made = milestones.create(
            act, home, title=title, state=state, description=body.text("description"), due_on=body.text("due_on")
        )
    shown = render.milestone(request.view, made)
    return created(shown, shown["url"])


def get_milestone(request: RestRequest) -> Reply:
    """Get a milestone."""
    return json_reply(render.milestone(request.view, from_path.milestone(request)))


def update_milestone(request: RestRequest) -> Reply:
    """Update a milestone."""
    found, body = from_path.milestone(request), request.body()
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
    return json_reply(render.milestone(request.view, changed))


def delete_milestone(request: RestRequest) -> Reply:
    """Delete a milestone."""
    found = from_path.milestone(request)
    with request.acting() as act:
        milestones.delete(act, found)
    return no_content()


def list_milestone_labels(request: RestRequest) -> Reply:
    """List labels for issues in a milestone."""
    rest = (
        "WHERE id IN (SELECT label_id FROM issue_labels JOIN issues ON issues.id = issue_labels.issue_id "
        "WHERE issues.milestone_id = ?) ORDER BY id"
    )
    found = Rows(request.world.database, Label, rest, (from_path.milestone(request).id,))
    return list_reply(request, found, lambda one: render.label(request.view, one))


def _completeness(request: RestRequest) -> Callable[[Milestone], float]:
    def share(milestone: Milestone) -> float:
        counts = request.world.database
        closed = counts.count(Issue, milestone_id=milestone.id, state="closed")
        return closed / (counts.count(Issue, milestone_id=milestone.id) or 1)

    return share
