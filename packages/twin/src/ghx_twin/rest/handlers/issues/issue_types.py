"""Types of issues, of an organization and in its repositories."""

from ghx_twin.commands.issues import issue_types
from ghx_twin.commands.kernel import UNSET
from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_types import issue_type_by_id, issue_types_of
from ghx_twin.queries.permissions import require_organization_admin
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.issues import issues as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import IssueType, Membership, User


def list_issue_types(request: RestRequest) -> Reply:
    """List issue types for an organization."""
    organization, viewer = lookup.organization(request.world, request.text("org")), request.viewer
    member = request.world.database.one(Membership, organization_id=organization.id, user_id=viewer.id)
    if member is None and not viewer.unrestricted:
        raise NotFoundRefusal("The types of an organization are for its members to see.")
    records = request.world.database.all(IssueType, organization_id=organization.id)
    return list_reply(request, records, lambda one: render.issue_type(request.view, one))


def list_repository_issue_types(request: RestRequest) -> Reply:
    """List issue types for a repository."""
    types = issue_types_of(request.world, from_path.repository(request))
    return list_reply(request, types, lambda one: render.issue_type(request.view, one))


def create_issue_type(request: RestRequest) -> Reply:
    """Create issue type for an organization."""
    organization, body = _organization_for_admin(request), request.body()
    body.require("name", "is_enabled")
    with request.acting() as act:
        issue_type = issue_types.create(
            act,
            organization,
            name=body.required_text("name"),
            description=body.text("description"),
            color=body.choice("color", issue_types.COLORS),
            is_enabled=bool(body.flag("is_enabled")),
        )
    return json_reply(render.issue_type(request.view, issue_type))


def update_issue_type(request: RestRequest) -> Reply:
    """Update issue type for an organization."""
    issue_type, body = _issue_type(request), request.body()
    body.require("name", "is_enabled")
    with request.acting() as act:
        result = issue_types.update(
            act,
            issue_type,
            name=body.required_text("name"),
            description=body.text("description") if "description" in body else UNSET,
            color=body.choice("color", issue_types.COLORS) if "color" in body else UNSET,
            is_enabled=bool(body.flag("is_enabled")),
        )
    return json_reply(render.issue_type(request.view, result))


def delete_issue_type(request: RestRequest) -> Reply:
    """Delete issue type for an organization."""
    issue_type = _issue_type(request)
    with request.acting() as act:
        issue_types.delete(act, issue_type)
    return no_content()


def _organization_for_admin(request: RestRequest) -> User:
    organization = lookup.organization(request.world, request.text("org"))
    require_organization_admin(request.world, request.viewer, organization, hidden_from="members")
    return organization


def _issue_type(request: RestRequest) -> IssueType:
    owner = _organization_for_admin(request)
    return issue_type_by_id(request.world, owner.id, request.number("issue_type_id"))
