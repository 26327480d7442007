"""Scopes that fields need, and those that GitHub checks before it looks anything up.

`gh` relies on it: with the token that `gh auth login` gives, which has no scope for projects, `gh issue view 7` of a
pull request asks for the projects of an issue 7, gets the error that its token may not see projects, and shows the
rest. An error about a missing issue would stop it.
"""

from graphql import FieldNode, GraphQLError

from ghx_twin.refusals import NotFoundRefusal, Refusal, ScopeRefusal
from ghx_twin.viewer import Viewer

_PROJECTS = "projectItems"
_NEEDED = "read:project"


def before_lookup(refusal: Refusal, error: GraphQLError, viewer: Viewer) -> tuple[str, str] | None:
    """Return type and message of what GitHub says instead of "not found" where the token lacks a scope; else None."""
    if not isinstance(refusal, NotFoundRefusal) or viewer.has_scope(_NEEDED) or not _asks_for_projects(error):
        return None
    refused = _scope_refusal(viewer, _PROJECTS, _NEEDED)
    return refused.graphql_type, refused.graphql_message


def require_scope(viewer: Viewer, field: str, scope: str) -> None:
    """Refuse a field to a token without its scope."""
    if not viewer.unrestricted and not viewer.has_scope(scope):
        raise _scope_refusal(viewer, field, scope)


def _scope_refusal(viewer: Viewer, field: str, scope: str) -> ScopeRefusal:
    granted = ", ".join(f"'{scope}'" for scope in sorted(viewer.scopes))
    return ScopeRefusal(
        "Your token has not been granted the required scopes to execute this query. "
        f"The '{field}' field requires one of the following scopes: ['{scope}'], "
        f"but your token has only been granted the: [{granted}] scopes. "
        "Please modify your token's scopes at: https://github.com/settings/tokens.",
        needed_scopes=(scope,),
    )


def _asks_for_projects(error: GraphQLError) -> bool:
    chosen = [
        selection
        for node in error.nodes or ()
        if isinstance(node, FieldNode) and node.selection_set
        for selection in node.selection_set.selections
    ]
    return any(isinstance(field, FieldNode) and field.name.value == _PROJECTS for field in chosen)
