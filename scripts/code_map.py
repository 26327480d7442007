#!/usr/bin/env python
"""List every module with the first line of its docstring, by package and folder.

    python scripts/code_map.py [FOLDER]    write `code-map.md` into this folder, or into docs/

`make docs` calls this.
"""

import ast
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("base", "twin", "tools", "profiler", "bench")


def main() -> None:
    """Write the page."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs"
    (folder / "code-map.md").write_text("\n".join(page()), encoding="utf-8")


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Code map"
    yield ""
    yield "Every module, by package and folder."
    for package in PACKAGES:
        source = ROOT / "packages" / package / "src"
        yield f"\n## ghx_{package}"
        files = sorted(source.rglob("*.py"), key=lambda path: (path.parent, path.name))
        for folder, modules in groupby(files, key=lambda path: path.parent):
            described = {path.stem: first_line(path) for path in modules}
            yield f"\n### {folder.relative_to(source).as_posix()}\n\n{described.pop('__init__', '')}\n"
            if described:
                yield "| module | what it holds |\n|---|---|"
                yield from (f"| `{name}` | {text.replace('|', '&#124;')} |" for name, text in described.items())
    yield ""


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
