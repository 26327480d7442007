"""Rulesets of repositories and organizations, and the rules of branches."""

from ghx_twin.commands.repositories import rulesets
from ghx_twin.commands.repositories.rulesets import RulesetFields
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require_organization_admin
from ghx_twin.queries.rulesets import rules_of, rulesets_of
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories import rulesets as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Repository, Ruleset, User


def list_rulesets(request: RestRequest) -> Reply:
    """Get all repository rulesets."""
    rulesets = rulesets_of(request.world, from_path.repository(request), with_parents=_asks_for_parents(request))
    return list_reply(request, _keep_targets(request, rulesets), lambda one: render.ruleset(request.view, one))


def create_ruleset(request: RestRequest) -> Reply:
    """Create a repository ruleset."""
    home, body = from_path.repository(request), request.body()
    body.require("name", "enforcement")
    with request.acting() as act:
        record = rulesets.create(act, home, **_fields(body))
    full_ruleset = render.full_ruleset(request.view, record, home)
    return created(full_ruleset, full_ruleset["_links"]["self"]["href"])


def get_ruleset(request: RestRequest) -> Reply:
    """Get a repository ruleset."""
    home, ruleset = _repository_ruleset(request, with_parents=_asks_for_parents(request))
    return json_reply(render.full_ruleset(request.view, ruleset, home))


def update_ruleset(request: RestRequest) -> Reply:
    """Update a repository ruleset."""
    home, ruleset = _repository_ruleset(request, with_parents=False)
    with request.acting() as act:
        changed = rulesets.update(act, ruleset, **_fields(request.body()))
    return json_reply(render.full_ruleset(request.view, changed, home))


def delete_ruleset(request: RestRequest) -> Reply:
    """Delete a repository ruleset."""
    _, ruleset = _repository_ruleset(request, with_parents=False)
    with request.acting() as act:
        rulesets.delete(act, ruleset)
    return no_content()


def list_branch_rules(request: RestRequest) -> Reply:
    """Get rules for a branch."""
    home = from_path.repository(request)
    branch_rules = [
        one
        for one in rules_of(request.world, home, f"refs/heads/{request.text('branch')}")
        if one.ruleset.target == "branch"
    ]
    return list_reply(request, branch_rules, lambda one: render.branch_rule(request.view, one))


def list_organization_rulesets(request: RestRequest) -> Reply:
    """Get all organization repository rulesets."""
    organization_rulesets = request.world.database.all(Ruleset, organization_id=_organization_for_owner(request).id)
    return list_reply(
        request, _keep_targets(request, organization_rulesets), lambda one: render.ruleset(request.view, one)
    )


def get_organization_ruleset(request: RestRequest) -> Reply:
    """Get an organization repository ruleset."""
    owner, identity = _organization_for_owner(request), request.number("ruleset_id")
    ruleset = request.world.database.one(Ruleset, id=identity, organization_id=owner.id)
    if ruleset is None:
        raise NotFoundRefusal(f"Could not resolve to a RepositoryRuleset with the id of {identity}.")
    return json_reply(render.full_ruleset(request.view, ruleset, None))


def _asks_for_parents(request: RestRequest) -> bool:
    return request.query.get("includes_parents", "true").lower() != "false"


def _keep_targets(request: RestRequest, rulesets: list[Ruleset]) -> list[Ruleset]:
    targets = request.query.get("targets")
    return [one for one in rulesets if targets is None or one.target in targets.split(",")]


def _repository_ruleset(request: RestRequest, *, with_parents: bool) -> tuple[Repository, Ruleset]:
    home, identity = from_path.repository(request), request.number("ruleset_id")
    for ruleset in rulesets_of(request.world, home, with_parents=with_parents):
        if ruleset.id == identity:
            return home, ruleset
    raise NotFoundRefusal(f"Could not resolve to a RepositoryRuleset with the id of {identity}.")


def _organization_for_owner(request: RestRequest) -> User:
    owner = lookup.organization(request.world, request.text("org"))
    require_organization_admin(request.world, request.viewer, owner, hidden_from="members")
    return owner


def _fields(body: Body) -> RulesetFields:
    """Return what a body says of a ruleset; the command checks the values."""
    fields: RulesetFields = {}
    for name in ("name", "target", "enforcement"):
        if (text := body.text(name)) is not None:
            fields[name] = text
    if "conditions" in body:
        conditions = body.nested("conditions")
        condition_pairs = [(name, conditions.nested(name)) for name in conditions.names()] if conditions else []
        fields["conditions"] = {
            name: {side: patterns.texts(side) or [] for side in ("include", "exclude")} if patterns else {}
            for name, patterns in condition_pairs
        }
    if "rules" in body:
        fields["rules"] = [{name: one.get(name) for name in one.names()} for one in body.objects("rules")]
    if "bypass_actors" in body:
        actors = body.objects("bypass_actors")
        fields["bypass_actors"] = [{name: one.get(name) for name in one.names()} for one in actors]
    return fields
