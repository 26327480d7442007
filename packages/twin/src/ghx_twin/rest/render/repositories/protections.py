"""Branches and their protection."""

from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.queries.rulesets import rules_of
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.repositories.commits import full_commit
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Protection, Repository


def protection_url(view: View, repository: Repository, branch: str) -> str:
    """Return where the rules of a branch are."""
    return view.api(repository, f"/branches/{quote_part(branch, safe='/')}/protection")


def branch(view: View, repository: Repository, name: str, sha: str) -> JsonObject:
    """Render a branch in a list."""
    rules = protection_of(view.world, repository, name)
    return {
        "name": name,
        "commit": {"sha": sha, "url": view.api(repository, f"/commits/{sha}")},
        "protected": rules is not None or bool(rules_of(view.world, repository, f"refs/heads/{name}")),
        "protection": _summary(rules),
        "protection_url": protection_url(view, repository, name),
    }


def full_branch(view: View, repository: Repository, name: str, sha: str) -> JsonObject:
    """Render a branch on its own, with its newest commit."""
    commit = view.git(repository).commit(sha)
    assert commit is not None  # noqa: S101 - branches point at commits
    return {
        **branch(view, repository, name, sha),
        "commit": full_commit(view, repository, commit),
        "_links": {
            "self": view.api(repository, f"/branches/{quote_part(name, safe='/')}"),
            "html": view.html(repository, f"/tree/{quote_part(name, safe='/')}"),
        },
    }


def protection(view: View, repository: Repository, name: str, rules: Protection) -> JsonObject:
    """Render the rules of a branch."""
    url = protection_url(view, repository, name)
    body: JsonObject = {"url": url}
    if rules.required_checks or rules.strict_checks:
        body["required_status_checks"] = required_checks(view, repository, name, rules)
    if rules.required_approvals is not None:
        body["required_pull_request_reviews"] = required_reviews(view, repository, name, rules)
    return {
        **body,
        "required_signatures": {"url": f"{url}/required_signatures", "enabled": False},
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": rules.enforce_admins},
        "required_linear_history": {"enabled": False},
        "allow_force_pushes": {"enabled": rules.allow_force_pushes},
        "allow_deletions": {"enabled": rules.allow_deletions},
        "block_creations": {"enabled": False},
        "required_conversation_resolution": {"enabled": False},
        "lock_branch": {"enabled": False},
        "allow_fork_syncing": {"enabled": False},
    }


def required_checks(view: View, repository: Repository, name: str, rules: Protection) -> JsonObject:
    """Render which checks must have passed."""
    url = f"{protection_url(view, repository, name)}/required_status_checks"
    return {
        "url": url,
        "strict": rules.strict_checks,
        "contexts": list(rules.required_checks),
        "contexts_url": f"{url}/contexts",
        "checks": [{"context": context, "app_id": None} for context in rules.required_checks],
    }


def required_reviews(view: View, repository: Repository, name: str, rules: Protection) -> JsonObject:
    """Render how many must have approved."""
    return {
        "url": f"{protection_url(view, repository, name)}/required_pull_request_reviews",
        "dismiss_stale_reviews": rules.dismiss_stale_reviews,
        "require_code_owner_reviews": False,
        "require_last_push_approval": False,
        "required_approving_review_count": rules.required_approvals or 0,
    }


def _summary(rules: Protection | None) -> JsonObject:
    contexts = list(rules.required_checks) if rules else []
    level = ("everyone" if rules.enforce_admins else "non_admins") if contexts and rules else "off"
    return {
        "enabled": rules is not None,
        "required_status_checks": {
            "enforcement_level": level,
            "contexts": contexts,
            "checks": [{"context": context, "app_id": None} for context in contexts],
        },
    }
