"""Labels and milestones."""

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Issue, Label, Milestone


def label(view: View, label: Label) -> JsonObject:
    """Render a label."""
    return view.once("label", label, lambda: _label(view, label))


def _label(view: View, label: Label) -> JsonObject:
    return {
        "id": label.id,
        "node_id": view.node(label),
        "url": view.api(view.repository(label.repository_id), f"/labels/{quote_part(label.name)}"),
        "name": label.name,
        "color": label.color,
        "default": label.default,
        "description": label.description,
        "archived_at": None,  # the emulator archives no labels
        "archived_by": None,
    }


def milestone(view: View, milestone: Milestone) -> JsonObject:
    """Render a milestone with how far it is."""
    return view.once("milestone", milestone, lambda: _milestone(view, milestone))


def _milestone(view: View, milestone: Milestone) -> JsonObject:
    repository = view.repository(milestone.repository_id)
    url = view.api(repository, f"/milestones/{milestone.number}")
    return {
        "url": url,
        "html_url": view.html(repository, f"/milestone/{milestone.number}"),
        "labels_url": f"{url}/labels",
        "id": milestone.id,
        "node_id": view.node(milestone),
        "number": milestone.number,
        "title": milestone.title,
        "description": milestone.description,
        "creator": simple_user(view, view.user(milestone.creator_id)),
        "open_issues": view.database.count(Issue, milestone_id=milestone.id, state="open"),
        "closed_issues": view.database.count(Issue, milestone_id=milestone.id, state="closed"),
        "state": milestone.state,
        "created_at": milestone.created_at,
        "updated_at": milestone.updated_at,
        "due_on": milestone.due_on,
        "closed_at": milestone.closed_at,
    }
