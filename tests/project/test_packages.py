"""Packages: documented, and what they offer is there."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "packages"
PACKAGES = sorted({path.parent for path in ROOT.glob("*/src/**/*.py")})
PUBLIC = (
    "ghx_profiler.agents",
    "ghx_bench",
    "ghx_profiler",
    "ghx_profiler.interchange",
    "ghx_profiler.stats",
    "ghx_twin",
)


def name_of(package: Path) -> str:
    return ".".join(package.relative_to(ROOT).parts[2:])


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_every_package_says_what_it_is_for(package: Path) -> None:
    tree = ast.parse((package / "__init__.py").read_text())

    assert ast.get_docstring(tree), f"{name_of(package)} has no docstring"


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_what_a_package_offers_can_be_imported_from_it(package: Path) -> None:
    module = importlib.import_module(name_of(package))

    offered = getattr(module, "__all__", [])

    assert [name for name in offered if not hasattr(module, name)] == []
    assert len(set(offered)) == len(offered)


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_package_lists_what_it_offers(package: str) -> None:
    assert importlib.import_module(package).__all__  # that the list is sorted is ruff's business: RUF022
