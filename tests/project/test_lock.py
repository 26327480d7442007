"""`requirements.lock` pins what `pyproject.toml` asks for, and nothing else stands in it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PIN = re.compile(r"[a-z0-9][a-z0-9-]*==[0-9][^\s;]*( ; .+)?")


def wanted() -> Iterator[Requirement]:
    """Yield every requirement of the project, of its extras and of its dependency groups."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    lists += settings["dependency-groups"].values()
    yield from (Requirement(line) for entries in lists for line in entries if isinstance(line, str))


def pins() -> list[Requirement]:
    return [Requirement(line) for line in LOCK.splitlines() if not line.lstrip().startswith("#")]


def test_every_line_is_an_exact_version_or_says_who_needs_it() -> None:
    lines = [line for line in LOCK.splitlines() if not re.fullmatch(r" +#( +via)?( +[\w.:()\[\]-]+)*", line)]

    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_every_requirement_is_pinned_to_a_version_that_it_allows() -> None:
    unmet = [
        str(requirement)
        for requirement in wanted()
        if canonicalize_name(requirement.name) != "ghx-bench" and not any(satisfies(pin, requirement) for pin in pins())
    ]

    assert unmet == [], "run `make lock`"


def satisfies(pin: Requirement, requirement: Requirement) -> bool:
    [exact] = pin.specifier
    return canonicalize_name(pin.name) == canonicalize_name(requirement.name) and exact.version in requirement.specifier
