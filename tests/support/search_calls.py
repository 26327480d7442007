"""A call of every capability of the search domain that goes well in the world of the tests."""

from collections.abc import Mapping

from capability_calls import NAME, OWNER, Call

SEARCH_CALLS: Mapping[str, Call] = {
    "search.code": {"query": f"print repo:{OWNER}/{NAME}"},
    "search.issues": {"query": f"crash repo:{OWNER}/{NAME}"},
    "search.prs": {"query": f"repo:{OWNER}/{NAME}"},
}
