"""Which tests start programs, found by what their code and their fixtures refer to: nobody has to remember a mark."""

import inspect
import subprocess
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = frozenset({"gh_client", "node_packages"})
"""Modules beside this one that run programs others wrote."""


def mark_of(item: pytest.Item) -> str | None:
    """Return `client` or `process` for a test that reaches for one, itself or through fixtures and helpers."""
    if not isinstance(item, pytest.Function):
        return None
    found = {mark for start in _starts(item) for mark in _reached(start)}
    return "client" if "client" in found else "process" if found else None


def _starts(item: pytest.Function) -> Iterator[Any]:
    yield getattr(getattr(item.function, "hypothesis", None), "inner_test", item.function)
    if item.cls is not None:
        yield item.cls
    if "pytester" in item.fixturenames:
        yield subprocess
    definitions = item._fixtureinfo.name2fixturedefs
    yield from (definition.func for each in definitions.values() for definition in each)


@cache
def _reached(start: Any) -> frozenset[str]:
    """Return the marks of everything that can be reached from a function of the tests."""
    return frozenset(_search(start))


def _search(start: Any) -> Iterator[str]:
    seen, left = set[int](), [start]
    while left:
        thing = inspect.unwrap(left.pop())
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if thing is subprocess or thing is sys.executable or getattr(thing, "__module__", None) == "subprocess":
            yield "process"
        elif getattr(thing, "__module__", None) in CLIENTS:
            yield "client"
        elif isinstance(thing, type) and _is_ours(thing):
            left.extend(vars(thing).values())
        elif isinstance(thing, property):
            left.append(thing.fget)
        elif isinstance(thing, list | tuple):
            left.extend(thing)
        elif isinstance(thing, dict):
            left.extend(thing.values())
        elif isinstance(thing, types.FunctionType) and _is_ours(thing):
            left.extend(_referred_to(thing))


def _referred_to(function: types.FunctionType) -> Iterator[Any]:
    """Yield the globals that a function names, those of functions inside it too."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes.extend(each for each in code.co_consts if isinstance(each, types.CodeType))
        yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)
        if "executable" in code.co_names:
            yield sys.executable
    yield from (cell.cell_contents for cell in function.__closure__ or () if cell.cell_contents is not None)


def _is_ours(thing: Any) -> bool:
    """Return whether a function or class is defined in the tests; what the product itself starts is not followed."""
    return _is_of_tests(thing.__module__)


@cache
def _is_of_tests(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or ROOT not in Path(file).parents:
        return False
    parts = Path(file).relative_to(ROOT).parts
    return parts[0] != ".venv" and ("tests" in parts or parts[-1] == "conftest.py")
