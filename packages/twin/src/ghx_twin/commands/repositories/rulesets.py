"""Rulesets of repositories: made, changed and deleted by administrators."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast

from pydantic import ValidationError

from ghx_base.texts.patterns import PatternError
from ghx_twin.commands import kernel
from ghx_twin.commands.texts import check_length, check_unicode, invalid, missing
from ghx_twin.queries.permissions import may, require
from ghx_twin.queries.repositories.globs import check_glob
from ghx_twin.queries.rulesets.rule_types import LONGEST_PATTERN, NOT_ENFORCED, PUSH_RULES, RULE
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal, NotImplementedRefusal
from ghx_twin.state.records import Repository, Ruleset, Team, User
from ghx_twin.world import Act

LONGEST_NAME = 100
TARGETS = ("branch", "tag", "push")
ENFORCEMENTS = ("disabled", "active", "evaluate")
_ACTORS = ("Integration", "OrganizationAdmin", "RepositoryRole", "Team", "DeployKey", "User")
_MODES = ("always", "pull_request", "exempt")
_ROLES = frozenset({2, 4, 5})  # maintain, write and admin can be named
Conditions = Mapping[str, Mapping[str, Sequence[str]]]


class RulesetFields(TypedDict, total=False):
    """What a ruleset says; what is not given keeps its value."""

    name: str
    target: str
    enforcement: str
    conditions: Conditions
    rules: Sequence[Mapping[str, object]]
    bypass_actors: Sequence[Mapping[str, object]]


def create(act: Act, owner: Repository | User, **fields: Unpack[RulesetFields]) -> Ruleset:
    """Add a ruleset to a repository, or as the world's maker to an organization."""
    home: dict[str, int] = {}
    if isinstance(owner, Repository):
        _require_admin(act, owner)
        home["repository_id"] = owner.id
    else:
        home["organization_id"] = owner.id
    checked = _check_fields(act, {"target": "branch", "conditions": {}, "rules": (), "bypass_actors": (), **fields})
    _check_name(act, cast("str", checked["name"]), home)
    return act.database.insert(Ruleset, **home, **checked, created_at=act.now, updated_at=act.now)


def update(act: Act, ruleset: Ruleset, **fields: Unpack[RulesetFields]) -> Ruleset:
    """Change what is given of a repository's ruleset."""
    current = kernel.reload(act, ruleset)
    repository = _repository(act, current)
    _require_admin(act, repository)
    stored = {name: getattr(current, name) for name in RulesetFields.__annotations__}
    checked = _check_fields(act, {**stored, **fields})
    if checked["name"] != current.name:
        _check_name(act, cast("str", checked["name"]), {"repository_id": repository.id})
    if all(getattr(current, name) == value for name, value in checked.items()):
        return current
    return act.database.update(current, **checked, updated_at=max(act.now, current.updated_at))


def delete(act: Act, ruleset: Ruleset) -> None:
    """Delete a repository's ruleset."""
    current = kernel.reload(act, ruleset)
    _require_admin(act, _repository(act, current))
    act.database.delete(current)


def _repository(act: Act, ruleset: Ruleset) -> Repository:
    repository = act.database.get(Repository, ruleset.repository_id)
    if repository is None:
        raise NotFoundRefusal(f"Could not resolve to a RepositoryRuleset with the id of {ruleset.id}.")
    return repository


def _require_admin(act: Act, repository: Repository) -> None:
    if not may(act.world, act.viewer, repository, "admin"):  # GitHub answers 404 here, not 403
        raise NotFoundRefusal("Could not resolve to a Repository whose rules the viewer may change.")
    require(act, repository, "admin")


def _check_name(act: Act, name: str, home: Mapping[str, int]) -> None:
    if act.database.one(Ruleset, **home, name=name):
        raise InvalidRefusal(errors=("Name must be unique",))


def _check_fields(act: Act, fields: Mapping[str, Any]) -> dict[str, object]:
    name = check_unicode(fields.get("name", ""), resource="RepositoryRuleset", field="name").strip()
    if not name:
        raise missing("RepositoryRuleset", "name")
    check_length(name, LONGEST_NAME, resource="RepositoryRuleset", field="name")
    target, enforcement = fields["target"], fields.get("enforcement", "active")
    if target not in TARGETS:
        raise invalid("RepositoryRuleset", "target", value=target)
    if enforcement not in ENFORCEMENTS:
        raise invalid("RepositoryRuleset", "enforcement", value=enforcement)
    return {
        "name": name,
        "target": target,
        "enforcement": enforcement,
        "conditions": _check_conditions(fields["conditions"]),
        "rules": _check_rules(fields["rules"], target),
        "bypass_actors": tuple(_check_actor(act, actor) for actor in fields["bypass_actors"]),
    }


def _check_conditions(conditions: Conditions) -> dict[str, dict[str, list[str]]]:
    checked: dict[str, dict[str, list[str]]] = {}
    for name, lists in conditions.items():
        if name not in {"ref_name", "repository_name"}:
            raise NotImplementedRefusal(f"The twin's rulesets have no condition {name}.")
        patterns = {side: [str(one) for one in lists.get(side, ())] for side in ("include", "exclude")}
        for pattern in (*patterns["include"], *patterns["exclude"]):
            check_unicode(pattern, resource="RepositoryRuleset", field="conditions")
            if name == "ref_name" and not pattern.startswith(("refs/", "~")):
                raise InvalidRefusal(errors=(f"Invalid target patterns: '{pattern}'",))
            check_length(pattern, LONGEST_PATTERN, resource="RepositoryRuleset", field="conditions")
            try:
                check_glob(pattern)
            except PatternError:
                raise InvalidRefusal(errors=(f"Invalid target patterns: '{pattern}'",)) from None
        checked[name] = patterns
    return checked


def _check_rules(rules: Sequence[Mapping[str, object]], target: str) -> tuple[dict[str, object], ...]:
    checked: list[dict[str, object]] = []
    for place, rule in enumerate(rules):
        kind = rule.get("type")
        if isinstance(kind, str) and kind in NOT_ENFORCED:
            raise NotImplementedRefusal(f"The twin's rulesets have no rule {kind}.")
        try:
            rule_model = RULE.validate_python(rule)
        except ValidationError:
            raise _no_such_rule(place) from None
        if (rule_model.type in PUSH_RULES) != (target == "push"):
            raise InvalidRefusal(errors=(f"Invalid rule '{rule_model.type}': not allowed in a {target} ruleset",))
        checked.append(rule_model.model_dump(mode="json", exclude_none=True))
    return tuple(checked)


def _no_such_rule(place: int) -> InvalidRefusal:
    problem = f"Invalid property /rules/{place}: data matches no possible input. See `documentation_url`."
    return InvalidRefusal(f"Invalid request.\n\n{problem}")


def _check_actor(act: Act, actor: Mapping[str, object]) -> dict[str, object]:
    kind, identity, mode = actor.get("actor_type"), actor.get("actor_id"), actor.get("bypass_mode") or "always"
    if kind not in _ACTORS or mode not in _MODES:
        raise invalid("RepositoryRuleset", "bypass_actors", value=kind if kind not in _ACTORS else mode)
    exists_by_type = {
        "Team": lambda: act.database.get(Team, cast("int", identity)) is not None,
        "User": lambda: act.database.get(User, cast("int", identity)) is not None,
        "Integration": lambda: act.database.get(User, cast("int", identity)) is not None,
        "RepositoryRole": lambda: identity in _ROLES,
    }.get(cast("str", kind), lambda: True)
    has_id = isinstance(identity, int) and not isinstance(identity, bool)
    if kind in {"Team", "User", "Integration", "RepositoryRole"} and not (has_id and exists_by_type()):
        raise InvalidRefusal(errors=("Actor must be part of the ruleset source or owner organization",))
    stored = None if kind in {"OrganizationAdmin", "DeployKey"} else identity
    return {"actor_id": stored, "actor_type": kind, "bypass_mode": mode}
