"""Branches, their protection, and tags."""

from ghx_twin.commands import repositories
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.refusals import NotImplementedRefusal, PlainNotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories import objects
from ghx_twin.rest.render.repositories import protections as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Protection, Repository

_NOT_PROTECTED = "Branch not protected"
_NEVER = (
    "required_linear_history",
    "block_creations",
    "required_conversation_resolution",
    "lock_branch",
    "allow_fork_syncing",
)


def list_branches(request: RestRequest) -> Reply:
    """List branches."""
    home = from_path.repository(request)
    heads = request.world.git(home).refs("refs/heads/")
    names = [(name.removeprefix("refs/heads/"), sha) for name, sha in heads.items()]
    filter_text = request.query.get("protected")
    if filter_text is not None:
        is_protected = filter_text.lower() == "true"
        names = [one for one in names if (protection_of(request.world, home, one[0]) is not None) == is_protected]
    return list_reply(request, names, lambda one: render.branch(request.view, home, one[0], one[1]))


def get_branch(request: RestRequest) -> Reply:
    """Get a branch."""
    home, name = from_path.repository(request), request.text("branch")
    return json_reply(render.full_branch(request.view, home, name, from_path.branch(request, home, name)))


def get_protection(request: RestRequest) -> Reply:
    """Get branch protection."""
    home, name, rules = _protection(request)
    return json_reply(render.protection(request.view, home, name, rules))


def update_protection(request: RestRequest) -> Reply:
    """Update branch protection."""
    home, name = _branch_for_admin(request)
    body = request.body()
    body.require("required_status_checks", "enforce_admins", "required_pull_request_reviews", "restrictions")
    _refuse_unknown(body)
    rules: JsonObject = {
        **_check_rules(body.nested("required_status_checks")),
        **_review_rules(body.nested("required_pull_request_reviews")),
        "enforce_admins": body.flag("enforce_admins") or False,
        "allow_force_pushes": body.flag("allow_force_pushes") or False,
        "allow_deletions": body.flag("allow_deletions") or False,
    }
    with request.acting() as act:
        protection = repositories.protect(act, home, pattern=name, **rules)
    return json_reply(render.protection(request.view, home, name, protection))


def delete_protection(request: RestRequest) -> Reply:
    """Delete branch protection."""
    _, _, rules = _protection(request)
    with request.acting() as act:
        repositories.unprotect(act, rules)
    return no_content()


def get_required_checks(request: RestRequest) -> Reply:
    """Get status checks protection."""
    home, name, rules = _protection(request)
    if not rules.required_checks and not rules.strict_checks:
        raise PlainNotFoundRefusal("Required status checks not enabled")
    return json_reply(render.required_checks(request.view, home, name, rules))


def get_required_reviews(request: RestRequest) -> Reply:
    """Get pull request review protection."""
    home, name, rules = _protection(request)
    if rules.required_approvals is None:
        raise PlainNotFoundRefusal("Required pull request reviews not enabled")
    return json_reply(render.required_reviews(request.view, home, name, rules))


def update_required_checks(request: RestRequest) -> Reply:
    """Update status check protection."""
    home, name, rules = _protection(request)
    body = request.body()
    strict, checks = body.flag("strict"), _check_rules(body)["required_checks"]
    contexts = checks if "contexts" in body or "checks" in body else rules.required_checks
    with request.acting() as act:
        changed = repositories.protect(
            act,
            home,
            pattern=rules.pattern,
            required_checks=contexts,
            strict_checks=rules.strict_checks if strict is None else strict,
        )
    return json_reply(render.required_checks(request.view, home, name, changed))


def remove_required_checks(request: RestRequest) -> Reply:
    """Remove status check protection."""
    home, _, rules = _protection(request)
    with request.acting() as act:
        repositories.protect(act, home, pattern=rules.pattern, required_checks=(), strict_checks=False)
    return no_content()


def update_required_reviews(request: RestRequest) -> Reply:
    """Update pull request review protection."""
    home, name, rules = _protection(request)
    body = request.body()
    settings = _review_rules(body)
    if "required_approving_review_count" not in body and rules.required_approvals is not None:
        settings["required_approvals"] = rules.required_approvals
    if "dismiss_stale_reviews" not in body:
        settings["dismiss_stale_reviews"] = rules.dismiss_stale_reviews
    with request.acting() as act:
        changed = repositories.protect(act, home, pattern=rules.pattern, **settings)
    return json_reply(render.required_reviews(request.view, home, name, changed))


def remove_required_reviews(request: RestRequest) -> Reply:
    """Delete pull request review protection."""
    home, _, rules = _protection(request)
    with request.acting() as act:
        repositories.protect(act, home, pattern=rules.pattern, required_approvals=None, dismiss_stale_reviews=False)
    return no_content()


def get_admin_enforcement(request: RestRequest) -> Reply:
    """Get admin branch protection."""
    home, name, rules = _protection(request)
    return json_reply(render.protection(request.view, home, name, rules)["enforce_admins"])


def enforce_for_admins(request: RestRequest) -> Reply:
    """Set admin branch protection."""
    home, name, rules = _protection(request)
    with request.acting() as act:
        changed = repositories.protect(act, home, pattern=rules.pattern, enforce_admins=True)
    return json_reply(render.protection(request.view, home, name, changed)["enforce_admins"])


def exempt_admins(request: RestRequest) -> Reply:
    """Delete admin branch protection."""
    home, _, rules = _protection(request)
    with request.acting() as act:
        repositories.protect(act, home, pattern=rules.pattern, enforce_admins=False)
    return no_content()


def list_tags(request: RestRequest) -> Reply:
    """List repository tags."""
    home = from_path.repository(request)
    refs = request.world.git(home).refs("refs/tags/")
    # GitHub lists tags in reverse alphabetical order.
    tags = [(name.removeprefix("refs/tags/"), sha) for name, sha in reversed(refs.items())]
    return list_reply(request, tags, lambda one: objects.tag(request.view, home, one[0], one[1]))


def _branch_for_admin(request: RestRequest) -> tuple[Repository, str]:
    home, name = from_path.repository(request), request.text("branch")
    from_path.branch(request, home, name)
    if request.view.role(home) != "admin":  # GitHub answers 404 here, not 403
        raise PlainNotFoundRefusal("Not Found")
    return home, name


def _protection(request: RestRequest) -> tuple[Repository, str, Protection]:
    home, name = _branch_for_admin(request)
    rules = protection_of(request.world, home, name)
    if rules is None:
        raise PlainNotFoundRefusal(_NOT_PROTECTED)
    return home, name, rules


def _check_rules(checks: Body | None) -> JsonObject:
    if checks is None:
        return {"required_checks": (), "strict_checks": False}
    contexts = list(checks.texts("contexts") or ())
    contexts += [one.required_text("context") for one in checks.objects("checks")]
    return {"required_checks": tuple(dict.fromkeys(contexts)), "strict_checks": checks.flag("strict") or False}


def _review_rules(reviews: Body | None) -> JsonObject:
    if reviews is None:
        return {"required_approvals": None, "dismiss_stale_reviews": False}
    if reviews.flag("require_code_owner_reviews") or reviews.flag("require_last_push_approval"):
        raise NotImplementedRefusal("The twin does not know code owners nor the approval of the last push.")
    approvals = reviews.integer("required_approving_review_count")
    return {
        "required_approvals": 1 if approvals is None else approvals,
        "dismiss_stale_reviews": reviews.flag("dismiss_stale_reviews") or False,
    }


def _refuse_unknown(body: Body) -> None:
    # 501: a rule that is stored and never enforced would be a plausible lie.
    names = [name for name in _NEVER if body.flag(name)]
    if body.nested("restrictions") is not None:
        names.append("restrictions")
    if names:
        raise NotImplementedRefusal(f"The twin's branch protection has no {', '.join(names)}.")
