"""Imports one repository, with the forks that its open pull requests come from, as a seed."""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args
from urllib.parse import quote, urlsplit

from ghx_base.files.scratch import ScratchFolder
from ghx_base.problems import plural
from ghx_twin.seed.conversations import SeedPull
from ghx_twin.seed.document import (
    SeedCommitComment,
    SeedLabel,
    SeedMilestone,
    SeedOrganization,
    SeedRepository,
    WorldSeed,
)
from ghx_twin.seed.format import Role
from ghx_twin.seed.importing.accounts import People, import_issue_types, import_organization
from ghx_twin.seed.importing.checks import import_check_runs, import_statuses, read_check_runs
from ghx_twin.seed.importing.conversations import Conversations
from ghx_twin.seed.importing.github import (
    GITHUB_COM,
    GitHubReader,
    ImportFailedError,
    Json,
    RefusedError,
    is_absent,
)
from ghx_twin.seed.importing.history import ImportedHistory, referenced_commits, settle_commits
from ghx_twin.seed.importing.redaction import Redactor
from ghx_twin.seed.importing.workflows import WorkflowImport, read_runs
from ghx_twin.seed.releases import SeedAsset, SeedRelease

_SETTINGS = (
    "description", "homepage", "visibility", "default_branch", "topics", "has_issues", "has_wiki", "has_projects",
    "has_downloads", "has_discussions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge",
    "allow_auto_merge", "allow_update_branch", "allow_forking", "delete_branch_on_merge",
    "web_commit_signoff_required", "archived", "is_template", "updated_at", "pushed_at",
)  # fmt: skip
_PROTECTION = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
  branchProtectionRules(first: 100) { nodes {
    pattern requiresApprovingReviews requiredApprovingReviewCount dismissesStaleReviews requiresStatusChecks
    requiredStatusCheckContexts requiresStrictStatusChecks isAdminEnforced allowsForcePushes allowsDeletions } } } }"""
_LARGEST_ASSET = 1024 * 1024  # a seed is read whole, and no agent reads a build
_OF_RELEASE = ("tag_name", "target_commitish", "name", "body", "draft", "prerelease", "created_at", "published_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLimits:
    """How much of a repository is imported; None is all there is."""

    depth: int | None = None
    issues: int | None = None
    pulls: int | None = None
    releases: int | None = None
    runs: int | None = None
    since: str | None = None
    with_forks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRepository:
    """A repository as a seed, and what was done to it on the way."""

    seed: WorldSeed
    requests: int
    emails_replaced: int
    mentions_defused: int
    commits_renamed: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Import:
    github: GitHubReader
    people: People
    redactor: Redactor
    limits: ImportLimits


def import_repository(
    github: GitHubReader, name: str, limits: ImportLimits, *, anonymize: bool = False, keep_emails: bool = False
) -> ImportedRepository:
    """Read a repository and return it as a seed; raise `ImportFailedError` if it cannot be read."""
    try:
        source = github.get(f"/repos/{name}")
    except RefusedError as error:
        if not is_absent(error):
            raise
        raise ImportFailedError(f"{github.api} has no repository {name}, or the token may not see it") from error
    if not isinstance(source.get("owner"), dict) or "full_name" not in source:
        raise github.no_github()
    people = People(organization=source["owner"]["login"] if source["owner"]["type"] == "Organization" else None)
    work = _Import(github, people, Redactor(keeps_emails=keep_emails), limits)
    owner = people.login(source["owner"])
    types = None if people.organization is None else import_issue_types(github, people, owner)
    records = _read_records(work, source)
    _report_skipped_objects(github, source)
    forks = _read_forks(work, records) if limits.with_forks else {}
    organizations = () if people.organization is None else (import_organization(github, people, owner, types),)
    if anonymize:
        work.redactor.pseudonyms = {old: new for old, new in people.pseudonyms().items() if old != owner.lower()}
    with ScratchFolder() as folder:
        history = ImportedHistory(folder / "fetched.git", source["clone_url"], _git_token(github, source["clone_url"]))
        repositories = _add_histories(work, history, records, forks)
    seed = _redact(work, organizations, repositories, with_names=not anonymize)
    return ImportedRepository(
        seed=seed,
        requests=github.requests,
        emails_replaced=work.redactor.emails,
        mentions_defused=work.redactor.mentions,
        commits_renamed=sum(old != new for old, new in work.redactor.commits.items()),
        left_out=tuple(github.skipped),
    )


def _report_skipped_objects(github: GitHubReader, source: Json) -> None:
    """Report the objects of the source that imports never read, as far as the token can see them."""
    home, owner = f"/repos/{source['full_name']}", source["owner"]
    kind = "orgs" if owner["type"] == "Organization" else "users"
    places = {
        "rulesets": (f"{home}/rulesets", None),
        "environments": (f"{home}/environments", "environments"),
        "deployments": (f"{home}/deployments", None),
        "variables": (f"{home}/actions/variables", "variables"),
        "secrets": (f"{home}/actions/secrets", "secrets"),
        "projects": (f"/{kind}/{owner['login']}/projectsV2", None),
    }
    for what, (path, within) in places.items():
        if github.has_any(path, within=within):
            github.skip(f"{what} (an import does not read them)")


def _read_records(work: _Import, source: Json) -> SeedRepository:
    """Return everything of a repository but its history; commits have their old names."""
    github, people, limits = work.github, work.people, work.limits
    name = str(source["full_name"])
    talk = Conversations(github=github, people=people, repository=name)
    issues, pulls = talk.find(issues=limits.issues, pulls=limits.pulls, since=limits.since)
    settings = _read_settings(work, source)
    comments = talk.import_comments([*issues, *pulls])
    opened, proposed = talk.import_issues(issues, comments), talk.import_pulls(pulls, comments)
    settings |= _read_roles(work, source)
    return SeedRepository.model_validate(
        {
            **settings,
            **_read_reports(work, name, _find_heads(github, source, proposed)),
            "releases": _import_releases(github, people, name, limits.releases),
            "commit_comments": tuple(_import_commit_comments(github, people, name)),
            "issues": opened,
            "pulls": proposed,
            "next_number": max((each.number or 0 for each in (*opened, *proposed)), default=0) + 1,
        }
    )


def _find_heads(github: GitHubReader, source: Json, pulls: Iterable[SeedPull]) -> dict[str, None]:
    """Return the heads of pull requests and of the default branch, each once."""
    heads = dict.fromkeys(each.outcome.head_sha for each in pulls if each.outcome is not None)
    try:
        tip = github.get(f"/repos/{source['full_name']}/branches/{quote(source['default_branch'], safe='/')}")
    except RefusedError:  # a repository without commits
        return heads
    return heads | {str(tip["commit"]["sha"]): None}


def _read_reports(work: _Import, name: str, heads: dict[str, None]) -> dict[str, Any]:
    """Return checks and workflows: what was reported on the heads, and the newest runs."""
    runs = read_runs(work.github, name, work.limits.runs)
    reports = read_check_runs(work.github, name, heads | {str(run["head_sha"]): None for run in runs})
    workflows = WorkflowImport(work.github, work.people, name, reports).import_workflows(runs)
    statuses = import_statuses(work.github, work.people, name, heads)
    return {"workflows": workflows, "checks": (*import_check_runs(reports.values()), *statuses)}


def _read_settings(work: _Import, source: Json) -> dict[str, Any]:
    github, people, name = work.github, work.people, source["full_name"]
    parent: Json | None = source.get("parent")
    labels = github.pages(f"/repos/{name}/labels")
    milestones = sorted(github.pages(f"/repos/{name}/milestones", state="all"), key=lambda each: int(each["number"]))
    return {
        **{key: source[key] for key in _SETTINGS if source.get(key) is not None},
        "name": name,
        "fork_of": None if parent is None else parent["full_name"],
        "exported": True,
        "at": source["created_at"],
        "labels": tuple(SeedLabel(**{key: each[key] for key in ("name", "color", "description")}) for each in labels),
        "milestones": tuple(_milestone(people, each) for each in milestones),
    }


def _read_roles(work: _Import, source: Json) -> dict[str, Any]:
    """Return who may do what; where the token may not see it, those who belong to the project can write."""
    github, people, name, owner = work.github, work.people, source["full_name"], source["owner"]["login"]
    roles = github.pages_if_visible("roles of collaborators", f"/repos/{name}/collaborators", affiliation="direct")
    collaborators = {people.login(each): _role(each["role_name"]) for each in roles if each["login"] != owner}
    teams = github.pages_if_visible("roles of teams", f"/repos/{name}/teams") if people.organization else []
    return {
        "collaborators": collaborators if roles else {each: "write" for each in people.insiders if each != owner},
        "teams": {str(each["slug"]): _role(each["permission"]) for each in teams},
        "protection": tuple(_read_protection(github, name)),
    }


def _role(name: str) -> str:
    """Return a role of GitHub's five; an organization may have others, of which it is not told what they allow."""
    plain = {"pull": "read", "push": "write"}.get(name, name)
    return plain if plain in get_args(Role) else "write"


def _milestone(people: People, milestone: Json) -> SeedMilestone:
    same = ("number", "title", "description", "state", "due_on", "closed_at")
    content = {key: milestone[key] for key in same}
    return SeedMilestone.model_validate(
        {**content, "creator": people.login(milestone["creator"]), "at": milestone["created_at"]}
    )


def _read_protection(github: GitHubReader, name: str) -> Iterable[dict[str, Any]]:
    owner, _, short = name.partition("/")
    data = github.graphql(_PROTECTION, {"owner": owner, "name": short})
    for rule in data["repository"]["branchProtectionRules"]["nodes"] if data and data["repository"] else ():
        needs_checks, needs_reviews = rule["requiresStatusChecks"], rule["requiresApprovingReviews"]
        yield {
            "pattern": rule["pattern"],
            "required_approvals": (rule["requiredApprovingReviewCount"] or 0) if needs_reviews else None,
            "dismiss_stale_reviews": rule["dismissesStaleReviews"],
            "required_checks": tuple(rule["requiredStatusCheckContexts"] or ()) if needs_checks else (),
            "strict_checks": rule["requiresStrictStatusChecks"] if needs_checks else False,
            "enforce_admins": rule["isAdminEnforced"],
            "allow_force_pushes": rule["allowsForcePushes"],
            "allow_deletions": rule["allowsDeletions"],
        }


def _import_releases(
    github: GitHubReader, people: People, repository: str, most: int | None
) -> tuple[SeedRelease, ...]:
    """Return the newest releases, oldest first."""
    path = f"/repos/{repository}/releases"
    listed = [] if most == 0 else list(islice(github.pages(path), most))
    latest = _find_latest_release(github, path) if listed else None
    return tuple(
        SeedRelease.model_validate(
            {
                **{name: each[name] for name in _OF_RELEASE},
                "make_latest": each["id"] == latest,
                "author": people.login(each["author"]),
                "assets": tuple(_import_assets(github, people, path, each)),
                "updated_at": each.get("updated_at"),
            }
        )
        for each in sorted(listed, key=lambda each: int(each["id"]))
    )


def _import_commit_comments(github: GitHubReader, people: People, repository: str) -> Iterator[SeedCommitComment]:
    """Yield all comments on commits, oldest first."""
    for each in github.pages_if_visible("comments on commits", f"/repos/{repository}/comments"):
        yield SeedCommitComment.model_validate(
            {
                **{name: each[name] for name in ("body", "path", "position", "line", "updated_at")},
                "commit": each["commit_id"],
                "author": people.writer(each["user"], each.get("author_association")),
                "at": each["created_at"],
            }
        )


def _find_latest_release(github: GitHubReader, path: str) -> int | None:
    try:
        return int(github.get(f"{path}/latest")["id"])
    except RefusedError:  # there are drafts and prereleases alone
        return None


def _import_assets(github: GitHubReader, people: People, path: str, release: Json) -> Iterator[SeedAsset]:
    for asset in release["assets"]:
        if asset["size"] > _LARGEST_ASSET or asset["state"] != "uploaded":
            github.skip(f"the file {asset['name']} of {release['tag_name']} ({asset['size']:,} bytes)")
            continue
        content = github.download(f"{path}/assets/{asset['id']}", accept="application/octet-stream")
        try:
            text, encoding = content.decode(), "utf-8"
        except UnicodeDecodeError:
            text, encoding = base64.b64encode(content).decode(), "base64"
        yield SeedAsset.model_validate(
            {
                **{name: asset[name] for name in ("name", "content_type", "label", "updated_at")},
                "content": text,
                "encoding": encoding,
                "uploader": people.login(asset["uploader"]),
                "at": asset["created_at"],
            }
        )


def _read_forks(work: _Import, records: SeedRepository) -> dict[str, Json]:
    """Return the forks that open pull requests come from, by name, as the API shows them."""
    homes = (
        pull.outcome.head_repository for pull in records.pulls if pull.state == "open" and pull.outcome is not None
    )
    forks: dict[str, Json] = {}
    for name in dict.fromkeys(each for each in homes if each is not None and each != records.name):
        try:
            fork = work.github.get(f"/repos/{name}")
        except RefusedError as error:
            work.github.skip(f"the fork {name} ({error})")
            continue
        if fork["owner"]["type"] == "Organization":  # a second organization is not an account of the seed
            work.github.skip(f"the fork {name}, which an organization owns")
            continue
        work.people.login(fork["owner"])
        forks[fork["full_name"]] = fork
    return forks


def _add_histories(
    work: _Import, history: ImportedHistory, records: SeedRepository, forks: dict[str, Json]
) -> list[SeedRepository]:
    """Return the repository and its forks with their histories; commits in records that are gone become others."""
    work.github.say(f"fetching {history.url}")
    history.fetch(f"+refs/{kind}/*:refs/{kind}/*" for kind in ("heads", "tags"))
    history.fetch_pulls(pull.number for pull in records.pulls if pull.number is not None)
    for name, fork in forks.items():
        history.fetch(
            (f"+refs/heads/*:refs/forks/{name}/heads/*", f"+refs/tags/*:refs/forks/{name}/tags/*"),
            url=fork["clone_url"],
        )
    history.fetch_commits(referenced_commits(records))
    read, records = len(records.pulls), settle_commits(history, records, {records.name, *forks})
    if lost := read - len(records.pulls):
        work.github.skip(f"{plural(lost, 'pull request')} whose commits are gone")
    commits, refs = referenced_commits(records), history.refs()
    commits |= history.tagged(each.tag_name for each in records.releases)
    _learn_addresses(work, history, records.name)
    depth = work.limits.depth
    shas = None if depth is None or not refs else history.newest(depth, records.default_branch, commits)
    work.redactor.commits = history.rename(work.redactor, shas)
    own = {name: sha for name, sha in refs.items() if not name.startswith("refs/forks/")}
    if shas is not None:
        own = {name: sha for name, sha in own.items() if not name.startswith("refs/tags/") or history.peel(sha) in shas}
    repositories = [_with_bundle(records, history.bundle(work.redactor, own, commits))]
    for name, fork in forks.items():
        prefix = f"refs/forks/{name}/"
        its = {f"refs/{ref.removeprefix(prefix)}": sha for ref, sha in refs.items() if ref.startswith(prefix)}
        settings = SeedRepository.model_validate({**_read_settings(work, fork), "fork_of": records.name})
        repositories.append(_with_bundle(settings, history.bundle(work.redactor, its)))
    return repositories


def _with_bundle(repository: SeedRepository, content: bytes) -> SeedRepository:
    return repository.model_copy(update={"bundle": base64.b64encode(content).decode() if content else None})


def _learn_addresses(work: _Import, history: ImportedHistory, name: str) -> None:
    """Ask which account an address belongs to, so that commits stay with the people of the seed."""
    unknown = {each for each in history.emails() if work.redactor.email_needs_account(each)}
    if work.redactor.keeps_emails or not unknown:
        return
    listed = work.github.pages(f"/repos/{name}/commits")
    for each in listed:
        for role in ("author", "committer"):
            account: Json | None = each[role]
            written: Json = each["commit"][role] or {}
            address = str(written.get("email", "")).lower()
            if address in unknown:
                unknown.discard(address)
                if account and account["login"] in work.people.seen:
                    work.redactor.logins[address] = account["login"]
        if not unknown:
            return


def _git_token(github: GitHubReader, clone_url: str) -> str | None:
    """Return the token for git, where the repository is on the server the token is for."""
    api, git = urlsplit(github.api), urlsplit(clone_url)
    is_same = api.netloc == git.netloc or (github.api == GITHUB_COM and git.netloc == "github.com")
    return github.token if is_same else None


def _redact(
    work: _Import,
    organizations: tuple[SeedOrganization, ...],
    repositories: list[SeedRepository],
    *,
    with_names: bool,
) -> WorldSeed:
    people = work.people.users(work.github, with_names=with_names)
    work.redactor.bots = work.people.bots()
    raw = WorldSeed(users=people, organizations=organizations, repositories=tuple(repositories))
    content = work.redactor.seed(raw.model_dump(by_alias=True, exclude_defaults=True))
    for each in content["repositories"]:
        each["name"] = work.redactor.repository(each["name"])
    return WorldSeed.model_validate(content)
