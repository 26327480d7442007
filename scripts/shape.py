"""Measure the shape of the source tree and compare it with scripts/shape.json: no figure may get worse.

`--write REASON` writes a new baseline; the reason is kept for the figures that got worse.
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASELINE = Path(__file__).with_suffix(".json")
PACKAGES = ("base", "twin", "tools", "profiler", "bench")
LONGEST_MODULE = 400
STEP, SMALL_STEP = 500, 50
FEWEST_WORDS = 5
NOUNS = "ghx_tools/capabilities/domains/"
"""Folders with one module for each noun of a domain: their size follows from how many nouns GitHub has."""


def main() -> int:
    """Print what differs from the baseline, or write it; return 1 where a figure is worse."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="print every figure")
    parser.add_argument("--write", metavar="REASON", nargs="?", const="", help="write the figures as the new baseline")
    given = parser.parse_args()
    baseline = json.loads(BASELINE.read_text())
    figures, before = measure(), baseline["figures"]
    worse = [name for name, value in figures.items() if value > before.get(name, 0)]
    for name, value in figures.items():
        if given.all or value != before.get(name):
            print(f"shape: {name}: {value} (baseline: {before.get(name)}{', worse' if name in worse else ''})")
    if given.write is None:
        if worse:
            print('shape: make the tree simpler, or write a new baseline: python scripts/shape.py --write "REASON"')
        return 1 if worse else 0
    if worse and not given.write:
        print("shape: nothing written: a figure that got worse needs a reason")
        return 2
    reasons = {name: reason for name, reason in baseline["reasons"].items() if name in figures}
    reasons |= dict.fromkeys(worse, given.write)
    BASELINE.write_text(json.dumps({"figures": figures, "reasons": reasons}, indent=2) + "\n")
    return 0


def measure() -> dict[str, int]:
    """Return all figures; each is better if it is smaller."""
    modules = dict(find_modules())
    folders = Counter(path.parent for path in modules.values() if path.name != "__init__.py")
    sizes = sorted(size for folder, size in folders.items() if NOUNS not in folder.as_posix())
    texts = {path: path.read_text() for path in modules.values()}
    lengths = {path: text.count("\n") for path, text in texts.items()}
    return {
        "modules per folder, 90th percentile": sizes[int(len(sizes) * 0.9)],
        "modules in the largest folder": sizes[-1],
        "modules with a single importer": count_single_importers(modules, texts),
        f"modules over {LONGEST_MODULE} lines": sum(length > LONGEST_MODULE for length in lengths.values()),
        f"lines of functions that compose prose, in steps of {SMALL_STEP}": round_up(
            sum(measure_prose(text) for path, text in texts.items() if "ghx_twin" not in path.parts), SMALL_STEP
        ),
        **{f"lines of {package}, in steps of {STEP}": count_lines(package, lengths) for package in PACKAGES},
        **{f"lines of {name}": (ROOT / name).read_text().count("\n") for name in ("README.md", "ARCHITECTURE.md")},
    }


def count_lines(package: str, lengths: Mapping[Path, int]) -> int:
    """Return the lines of a package."""
    return round_up(sum(size for path, size in lengths.items() if ROOT / "packages" / package in path.parents), STEP)


def round_up(lines: int, step: int) -> int:
    """Return a number of lines to which a change may add a few without a new baseline."""
    return step * ceil(lines / step)


def find_modules() -> Iterator[tuple[str, Path]]:
    """Yield each module by its dotted name."""
    for package in PACKAGES:
        source = ROOT / "packages" / package / "src"
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def count_single_importers(modules: Mapping[str, Path], texts: Mapping[Path, str]) -> int:
    """Count modules that only one other module imports, which is in the same folder."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        for node in ast.walk(ast.parse(texts[path])):
            for target in find_targets(node, modules):
                if target != name:
                    importers[target].add(name)
    return sum(
        len(importers[name]) == 1 and next(iter(importers[name])).rpartition(".")[0] == name.rpartition(".")[0]
        for name, path in modules.items()
        if path.name != "__init__.py"
    )


def find_targets(node: ast.AST, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a statement imports."""
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield from [each for each in (whole if whole in modules else node.module,) if each in modules]
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)


def measure_prose(text: str) -> int:
    """Return the lines of functions that return text which they put together from words."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in functions if composes_prose(node))


def composes_prose(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function returns text and has a string with several words, its docstring aside."""
    if node.returns is None or "str" not in ast.unparse(node.returns):
        return False
    body = node.body[1:] if ast.get_docstring(node) else node.body
    words = sum(
        len(re.findall(r"[A-Za-z]{2,}", constant.value))
        for statement in body
        for constant in ast.walk(statement)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str) and " " in constant.value
    )
    return words >= FEWEST_WORDS


if __name__ == "__main__":
    sys.exit(main())
