"""Searches over everything the viewer may see."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ghx_twin.queries import lookup, search
from ghx_twin.queries.search import CodeMatch, CommitMatch
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.reply import JsonObject, Reply, json_reply
from ghx_twin.rest.pagination import page_number, page_of, page_size
from ghx_twin.rest.render.issues import issues, labels
from ghx_twin.rest.render.repositories import commits, objects
from ghx_twin.rest.render.repositories.repositories import bare_repository
from ghx_twin.rest.render.repositories.repositories import repository as render_repository
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue, Label, Repository, User

MOST_RESULTS = 1000  # what a search shows, on all its pages together
SCORE = 1.0
HitT = TypeVar("HitT")


def search_issues(request: RestRequest) -> Reply:
    """Search issues and pull requests."""
    sort, order = _order(request)
    hits = search.search_issues(request.world, request.viewer, _query(request), sort=sort, order=order)
    return _results(request, hits, lambda one: _issue(request, one), search_type="lexical")


def search_repositories(request: RestRequest) -> Reply:
    """Search repositories."""
    sort, order = _order(request)
    repositories = search.search_repositories(request.world, request.viewer, _query(request), sort=sort, order=order)
    return _results(request, repositories, lambda one: _repository(request, one))


def search_code(request: RestRequest) -> Reply:
    """Search code."""
    code = search.search_code(request.world, request.viewer, _query(request))
    return _results(request, code, lambda one: _code(request, one))


def search_users(request: RestRequest) -> Reply:
    """Search users."""
    users = search.search_users(request.world, request.viewer, _query(request))
    return _results(request, users, lambda one: _user(request, one))


def search_commits(request: RestRequest) -> Reply:
    """Search commits."""
    sort, order = _order(request)
    hits = search.search_commits(request.world, request.viewer, _query(request), sort=sort, order=order)
    return _results(request, hits, lambda one: _commit(request, one))


def search_labels(request: RestRequest) -> Reply:
    """Search labels."""
    words = _query(request).lower().split()
    identity = request.query.get("repository_id", "")
    if not identity.isascii() or not identity.isdigit() or len(identity) > 18:  # noqa: PLR2004 - what a column holds
        raise _missing("repository_id")
    home = lookup.repository_by_id(request.world, request.viewer, int(identity))
    records = request.world.database.all(Label, repository_id=home.id)
    matching = [one for one in records if all(word in f"{one.name} {one.description or ''}".lower() for word in words)]
    return _results(request, matching, lambda one: {**labels.label(request.view, one), "score": SCORE})


def _query(request: RestRequest) -> str:
    query = request.query.get("q", "")
    if not query.strip():
        raise _missing("q")
    return query


def _missing(field: str) -> InvalidRefusal:
    return InvalidRefusal(errors=[FieldError(resource="Search", field=field, code="missing")])


def _order(request: RestRequest) -> tuple[str | None, str]:
    return request.query.get("sort") or None, "asc" if request.query.get("order") == "asc" else "desc"


def _results(request: RestRequest, hits: Sequence[HitT], render: Callable[[HitT], JsonObject], **more: str) -> Reply:
    # GitHub counts all hits in `total_count` and serves the first thousand.
    if (page_number(request) - 1) * page_size(request) >= MOST_RESULTS:
        raise InvalidRefusal(f"Only the first {MOST_RESULTS} search results are available")
    entries, headers = page_of(request, hits[:MOST_RESULTS])
    items = [render(one) for one in entries]
    body = {"total_count": len(hits), "incomplete_results": False, "items": items, **more}
    return json_reply(body, headers=headers)


def _issue(request: RestRequest, issue: Issue) -> JsonObject:
    body = issues.issue(request.view, issue)
    if body.get("body") is None:
        body.pop("body", None)
    texts = {"title": issue.title, "body": issue.body or ""}
    return {**body, "score": SCORE, **_matches(request, body["url"], "Issue", texts)}


def _repository(request: RestRequest, repository: Repository) -> JsonObject:
    body = render_repository(request.view, repository)
    texts = {"name": repository.name, "description": repository.description or ""}
    return {**body, "score": SCORE, **_matches(request, body["url"], "Repository", texts)}


def _user(request: RestRequest, user: User) -> JsonObject:
    body = simple_user(request.view, user)
    return {**body, "score": SCORE, **_matches(request, body["url"], "User", {"login": user.login})}


def _commit(request: RestRequest, match: CommitMatch) -> JsonObject:
    body = commits.commit(request.view, match.repository, match.commit)
    repository_content = bare_repository(request.view, match.repository)
    texts = {"message": match.commit.message}
    return {**body, "repository": repository_content, "score": SCORE, **_matches(request, body["url"], "Commit", texts)}


def _code(request: RestRequest, match: CodeMatch) -> JsonObject:
    home = match.repository
    tip = request.world.git(home).ref(f"refs/heads/{home.default_branch}") or home.default_branch
    entry = objects.entry(request.view, home, match.entry, tip)
    body: JsonObject = {
        **{name: entry[name] for name in ("name", "path", "sha", "url", "git_url", "html_url")},
        "repository": bare_repository(request.view, home),
        "score": SCORE,
    }
    if "text-match" in request.media:
        body["text_matches"] = [
            {
                "object_url": entry["url"],
                "object_type": "FileContent",
                "property": "content",
                "fragment": fragment.text,
                "matches": [{"text": text, "indices": [start, end]} for text, start, end in fragment.hits],
            }
            for fragment in match.fragments
        ]
    return body


def _matches(request: RestRequest, url: str, kind: str, texts: dict[str, str]) -> JsonObject:
    """Return where the words of the query occur, for a client that asks with the media type `text-match`."""
    if "text-match" not in request.media:
        return {}
    words = [word.strip('"()').lower() for word in request.query["q"].split() if ":" not in word]
    found: list[JsonObject] = []
    for name, text in texts.items():
        hits = [(text.lower().find(word), word) for word in words if word and word in text.lower()]
        if hits:
            matches = [{"text": text[at : at + len(word)], "indices": [at, at + len(word)]} for at, word in hits]
            entry = {"object_url": url, "object_type": kind, "property": name, "fragment": text, "matches": matches}
            found.append(entry)
    return {"text_matches": found}
