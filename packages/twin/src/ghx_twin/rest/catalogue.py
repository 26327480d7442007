"""The names of all operations that GitHub's REST API has, and where it describes them."""

import fnmatch
from functools import cache
from importlib.resources import files

from ghx_twin.rest.routing import Router

DOCUMENTATION = "https://docs.github.com/rest"
FILE = "github-operations.txt"  # written by scripts/github_catalogue.py

UNDESCRIBED = (
    "GET /repos/{owner}/{repo}/contents",
    "GET /repos/{owner}/{repo}/git/refs",
    "GET /repos/{owner}/{repo}/git/refs/{ref}",
)
"""What GitHub serves and its description of the API lacks."""


@cache
def _catalogue() -> tuple[str, Router[str], dict[str, str]]:
    router, pages = Router[str](), dict[str, str]()
    source, *lines = files("ghx_twin.rest").joinpath(FILE).read_text(encoding="utf-8").splitlines()
    for line in lines:
        method, template, page = line.split(" ")
        router.add(method, template, f"{method} {template}")
        pages[f"{method} {template}"] = page
    return source.removeprefix("# "), router, pages


def catalogue_source() -> str:
    """Return the package, with its version, that the names of GitHub's operations are from."""
    return _catalogue()[0]


def known_operations() -> tuple[str, ...]:
    """Return method and template of every operation that GitHub has."""
    return tuple(_catalogue()[2])


def is_operation(pattern: str) -> bool:
    """Return whether a shell pattern fits an operation that GitHub has."""
    return any(fnmatch.fnmatchcase(each, pattern) for each in (*known_operations(), *UNDESCRIBED))


def known_operation(method: str, raw_path: str) -> str | None:
    """Return the method and template under which GitHub serves a path; None where it has no such path.

    The emulator may lack the operation: then it answers 501 instead of 404.
    """
    operation = _catalogue()[1].find(method, raw_path)
    return None if operation is None else operation.target


def documentation_url(operation: str) -> str:
    """Return the page that describes an operation."""
    page = _catalogue()[2].get(operation)
    if page is None or page.startswith("https:"):  # of enterprises, which have pages of their own
        return page or DOCUMENTATION
    return f"{DOCUMENTATION}/{page}"
