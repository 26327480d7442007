"""Labels and milestones of a repository."""

from ghx_twin.commands.issues import labels, milestones
from ghx_twin.commands.kernel import UNSET
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, order_clause
from ghx_twin.rest.render.issues import labels as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Label, Milestone
from ghx_twin.state.rows import Rows

_STATES = ("open", "closed")
_COMPLETENESS = (
    "(SELECT coalesce(avg(issues.state = 'closed'), 0.0) FROM issues WHERE issues.milestone_id = milestones.id)"
)


def list_labels(request: RestRequest) -> Reply:
    """List labels for a repository."""
    home = from_path.repository(request)
    rows = Rows(request.world.database, Label, "WHERE repository_id = ? ORDER BY id", (home.id,))
    return list_reply(request, rows, lambda one: render.label(request.view, one))


def create_label(request: RestRequest) -> Reply:
    """Create a label."""
    home, body = from_path.repository(request), request.body()
    name, color = body.required_text("name"), body.text("color")
    with request.acting() as act:
        record = labels.create(act, home, name=name, color=color, description=body.text("description"))
    label = render.label(request.view, record)
    return created(label, label["url"])


def get_label(request: RestRequest) -> Reply:
    """Get a label."""
    return json_reply(render.label(request.view, from_path.label(request)))


def update_label(request: RestRequest) -> Reply:
    """Update a label."""
    label, body = from_path.label(request), request.body()
    name, color = body.text("new_name") or body.text("name"), body.text("color")
    description = body.text("description") if "description" in body else UNSET
    with request.acting() as act:
        changed = labels.update(
            act,
            label,
            name=UNSET if name is None else name,
            color=UNSET if color is None else color,
            description=description,
        )
    return json_reply(render.label(request.view, changed))


def delete_label(request: RestRequest) -> Reply:
    """Delete a label."""
    label = from_path.label(request)
    with request.acting() as act:
        labels.delete(act, label)
    return no_content()


def list_milestones(request: RestRequest) -> Reply:
    """List milestones."""
    where, values = "repository_id = ?", list[object]([from_path.repository(request).id])
    if (state := request.query.get("state", "open")) != "all":
        where += " AND state = ?"
        values.append(state)
    # "~" sorts after every date: milestones without one come last.
    columns = {"due_on": "coalesce(milestones.due_on, '~')", "completeness": _COMPLETENESS}
    order = order_clause(request, columns, "due_on", "asc", table="milestones")
    rows = Rows(request.world.database, Milestone, f"WHERE {where} {order}", values)
    return list_reply(request, rows, lambda one: render.milestone(request.view, one))


def create_milestone(request: RestRequest) -> Reply:
    """Create a milestone."""
    home, body = from_path.repository(request), request.body()
    title, state = body.required_text("title"), body.choice("state", _STATES) or "open"
    with request.acting() as act:
        record = milestones.create(
            act, home, title=title, state=state, description=body.text("description"), due_on=body.text("due_on")
        )
    milestone = render.milestone(request.view, record)
    return created(milestone, milestone["url"])


def get_milestone(request: RestRequest) -> Reply:
    """Get a milestone."""
    return json_reply(render.milestone(request.view, from_path.milestone(request)))


def update_milestone(request: RestRequest) -> Reply:
    """Update a milestone."""
    milestone, body = from_path.milestone(request), request.body()
    title, state = body.text("title"), body.choice("state", _STATES)
    with request.acting() as act:
        changed = milestones.update(
            act,
            milestone,
            title=UNSET if title is None else title,
            state=UNSET if state is None else state,
            description=body.text("description") if "description" in body else UNSET,
            due_on=body.text("due_on") if "due_on" in body else UNSET,
        )
    return json_reply(render.milestone(request.view, changed))


def delete_milestone(request: RestRequest) -> Reply:
    """Delete a milestone."""
    milestone = from_path.milestone(request)
    with request.acting() as act:
        milestones.delete(act, milestone)
    return no_content()


def list_milestone_labels(request: RestRequest) -> Reply:
    """List labels for issues in a milestone."""
    rest = (
        "WHERE id IN (SELECT label_id FROM issue_labels JOIN issues ON issues.id = issue_labels.issue_id "
        "WHERE issues.milestone_id = ?) ORDER BY id"
    )
    rows = Rows(request.world.database, Label, rest, (from_path.milestone(request).id,))
    return list_reply(request, rows, lambda one: render.label(request.view, one))
