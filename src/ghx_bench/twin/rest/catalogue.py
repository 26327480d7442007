"""Every operation that GitHub has, whether the twin has it or not: names and where they are described."""

from functools import cache
from importlib.resources import files

from ghx_bench.twin.rest.errors import DOCUMENTATION
from ghx_bench.twin.rest.routing import Router

FILE = "github-operations.txt"  # written by scripts/github_operations.py


@cache
def _catalogue() -> tuple[Router[str], dict[str, str]]:
    router, pages = Router[str](), dict[str, str]()
    text = files("ghx_bench.twin.rest").joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        method, template, page = line.split(" ")
        router.add(method, template, f"{method} {template}")
        pages[f"{method} {template}"] = page
    return router, pages


def known_operation(method: str, raw_path: str) -> str | None:
    """Return the method and template under which GitHub serves a path; None where it has no such path."""
    found = _catalogue()[0].find(method, raw_path)
    return None if found is None else found.target


def documentation_url(operation: str) -> str:
    """Return the page that describes an operation."""
    page = _catalogue()[1].get(operation)
    return f"{DOCUMENTATION}/{page}" if page else DOCUMENTATION
