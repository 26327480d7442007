"""The five packages and the project at the root, which installs all of them: what each one requires."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ghx_base.version import VERSION

ROOT = Path(__file__).parents[2]
BELOW = {
    "base": set[str](),
    "twin": {"base"},
    "tools": {"base"},
    "profiler": {"base"},
    "bench": {"base", "twin", "tools", "profiler"},
}
"""The packages that each one builds on."""
OF_CALLERS = {"base": {"cyclopts"}, "twin": {"pytest"}}
"""What a package imports only for those who require it themselves: its command line, or its pytest plugin."""

PARTS = {"mcp-types", "pydantic-core"}
"""Distributions that belong to another one, which requires them in just the right version."""


def project_at(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


PROJECTS = {name: project_at(ROOT / "packages" / name) for name in BELOW}


def requirements_of(project: dict[str, Any], *, extras: bool = True) -> Iterator[Requirement]:
    optional = project.get("optional-dependencies", {}) if extras else {}
    yield from (Requirement(line) for lines in (project["dependencies"], *optional.values()) for line in lines)


owners_of_modules = cache(packages_distributions)


def imported_by(package: str) -> set[str]:
    """Return the distributions that a package imports at run time."""
    names = set[str]()
    for path in (ROOT / "packages" / package / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module)
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    owners = owners_of_modules()
    return {canonicalize_name(owners[top][0]) for top in tops if not top.startswith("ghx_")}


@pytest.mark.slow
@pytest.mark.parametrize("package", BELOW)
def test_a_package_requires_what_it_imports_and_the_packages_below_it(package: str) -> None:
    required = {canonicalize_name(each.name) for each in requirements_of(PROJECTS[package])}
    ours = {name for name in required if name.startswith("ghx-")}
    of_extras = {
        name
        for names in PROJECTS.values()
        for name in (canonicalize_name(each.name) for each in requirements_of(names))
    }

    # The bench looks at packages of extras, which the profiler requires for it.
    allowed = required | (of_extras if package == "bench" else set()) | OF_CALLERS.get(package, set()) | PARTS
    assert imported_by(package) - allowed == set()
    assert ours - {f"ghx-{package}"} == {f"ghx-{name}" for name in BELOW[package]}


def test_the_root_requires_what_the_packages_require() -> None:
    root = project_at(ROOT)
    needed = {str(each) for project in PROJECTS.values() for each in requirements_of(project, extras=False)}
    needed |= {str(each) for each in map(Requirement, PROJECTS["twin"]["optional-dependencies"]["gh"])}
    extras = {
        name: {str(Requirement(line)) for line in lines}
        for project in (PROJECTS["profiler"], PROJECTS["bench"])
        for name, lines in project["optional-dependencies"].items()
        if not all(line.startswith("ghx-") for line in lines)
    }

    assert {str(Requirement(line)) for line in root["dependencies"]} == {
        each for each in needed if not each.startswith("ghx-")
    }
    ours = {name: {str(Requirement(line)) for line in lines} for name, lines in root["optional-dependencies"].items()}
    assert {name: lines for name, lines in ours.items() if name != "all"} == extras


def test_all_have_one_version() -> None:
    versions = {name: project["version"] for name, project in PROJECTS.items()}
    pinned = {
        str(each.specifier)
        for project in PROJECTS.values()
        for each in requirements_of(project)
        if each.name.startswith("ghx-") and each.specifier
    }

    assert versions == dict.fromkeys(BELOW, VERSION)
    assert project_at(ROOT)["version"] == VERSION
    assert pinned == {f"=={VERSION}"}


@pytest.mark.parametrize("section", ["scripts", "entry-points"])
def test_the_root_has_the_commands_and_plugins_of_the_packages(section: str) -> None:
    together = {name: value for project in PROJECTS.values() for name, value in project.get(section, {}).items()}

    assert project_at(ROOT)[section] == together
