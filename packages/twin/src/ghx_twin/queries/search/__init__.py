"""GitHub's searches over everything a viewer may see."""

from ghx_twin.queries.search.code import CodeMatch, Fragment, search_code
from ghx_twin.queries.search.commits import CommitMatch, search_commits
from ghx_twin.queries.search.issues import search_issues
from ghx_twin.queries.search.repositories import search_repositories, search_users
from ghx_twin.queries.search.scopes import UnknownSubjectRefusal

__all__ = [
    "CodeMatch",
    "CommitMatch",
    "Fragment",
    "UnknownSubjectRefusal",
    "search_code",
    "search_commits",
    "search_issues",
    "search_repositories",
    "search_users",
]
