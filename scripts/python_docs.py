"""Write docs/python/: a page for each public package, from its exports and the examples in docs/python/examples/.

    python scripts/python_docs.py           write the pages anew
    python scripts/python_docs.py --check   end with 1 if a page is out of date, or an export lacks a text or an example

An example is a part of `docs/python/examples/PACKAGE.py` that begins with `# %% Name, Name`: the exports it shows.
Parts stand on the page in their order, and the tests run each page from top to bottom like any other.
"""

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

PAGES = Path(__file__).parents[1] / "docs" / "python"
PACKAGES = {
    "twin": "ghx_bench.twin",
}
PART = re.compile(r"^# %% (.+)$", re.MULTILINE)
MOVED = re.compile(r"ghx_bench\.[a-z_.]+\.([A-Z]\w*|[a-z]\w*)")


def main() -> None:
    """Write or check the pages."""
    wrong: list[str] = []
    for name, package in PACKAGES.items():
        module, parts = importlib.import_module(package), list(examples(name))
        wrong += missing(module, parts)
        path, text = PAGES / f"{name}.md", page(name, module, parts)
        if sys.argv[1:] == ["--check"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                wrong.append(f"{path.name} is out of date: run python scripts/python_docs.py")
        else:
            path.write_text(text, encoding="utf-8")
    if wrong:
        sys.exit("\n".join(wrong))


def examples(name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the parts of an examples file: the exports that each shows, and its code."""
    text = (PAGES / "examples" / f"{name}.py").read_text(encoding="utf-8")
    pieces = PART.split(text)
    for names, code in zip(pieces[1::2], pieces[2::2], strict=True):
        yield tuple(each.strip() for each in names.split(",")), code.strip()


def missing(module: ModuleType, parts: list[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    """Yield the exports without a docstring or an example, and the examples of what is no export."""
    shown = {name: code for names, code in parts for name in names}
    for name in public_names(module):
        if not text_of(getattr(module, name), module, name):
            yield f"{module.__name__}.{name} has no docstring"
        if not re.search(rf"\b{name}\b", shown.get(name, "")):
            yield f"{module.__name__}.{name} is in no example"
    yield from (f"{module.__name__}.{name} is no export" for name in shown if name not in public_names(module))


def public_names(module: ModuleType) -> list[str]:
    """Return the exports of a package, sorted."""
    return sorted(module.__all__)


def page(name: str, module: ModuleType, parts: list[tuple[tuple[str, ...], str]]) -> str:
    """Return a whole page."""
    lines = [
        f"# `{module.__name__}`",
        "",
        f"<!-- Written by scripts/python_docs.py from the code and docs/python/examples/{name}.py. -->",
        "",
        (inspect.getdoc(module) or "").partition("\n\n")[0],
    ]
    for names, code in parts:
        for each in names:
            lines += ["", *entry(each, getattr(module, each), module)]
        lines += ["", "```python", code, "```"]
    return "\n".join(lines) + "\n"


def entry(name: str, value: Any, module: ModuleType) -> Iterator[str]:
    """Yield the lines about one export: its heading, its signature or fields, its docstring."""
    yield f"## {name}"
    yield ""
    if inspect.isclass(value) and not issubclass(value, (Enum, BaseException)):
        kind = "Protocol" if getattr(value, "_is_protocol", False) else "class"
        yield f"*{kind}*"
        yield ""
    elif inspect.isfunction(value):
        yield f"`{'async ' if inspect.iscoroutinefunction(value) else ''}{name}{signature_of(value)}`"
        yield ""
    yield text_of(value, module, name)
    fields = list(fields_of(value))
    if fields:
        yield ""
        yield from ("| field | type | |", "|---|---|---|", *fields)
    yield from methods_of(value)


def text_of(value: Any, module: ModuleType, name: str) -> str:
    """Return the docstring of an export; that of an alias stands below it in the source."""
    own = vars(value).get("__doc__") if inspect.isclass(value) else getattr(value, "__doc__", None)
    if (inspect.isclass(value) or inspect.isfunction(value)) and own:
        return inspect.cleandoc(own)
    home = importlib.import_module(home_of(module, name))
    found = re.search(
        rf'^{name}\b[^\n]*(?:\n[^\n"]+)*?\n"""(.+?)"""', inspect.getsource(home), re.MULTILINE | re.DOTALL
    )
    return inspect.cleandoc(found[1]) if found else ""


def home_of(module: ModuleType, name: str) -> str:
    """Return the module that defines an export, as the package's own imports name it."""
    found = re.search(rf"from (\S+) import (?:\([^)]*?\b{name}\b|[^\n(]*\b{name}\b)", inspect.getsource(module))
    return found[1] if found else module.__name__


def signature_of(value: Any) -> str:
    """Return the signature of a function with short type names; a default that takes more than a word is `...`."""
    signature = inspect.signature(value)
    plain = (type(None), bool, int, float, str, type(inspect.Parameter.empty))
    parameters = [
        each if each.default is each.empty or isinstance(each.default, plain) else each.replace(default=...)
        for each in signature.parameters.values()
    ]
    written = str(signature.replace(parameters=parameters)).replace("Ellipsis", "...")
    return re.sub(r"\s+", " ", short(written))


def short(annotation: str) -> str:
    """Return type names without the modules they are from."""
    plain = MOVED.sub(r"\1", annotation).replace("'", "")
    return re.sub(r"\b(?:typing|collections\.abc|pathlib|datetime|enum|pydantic[\w.]*|types)\.", "", plain)


def fields_of(value: Any) -> Iterator[str]:
    """Yield table rows for the fields of a record."""
    if inspect.isclass(value) and issubclass(value, BaseModel):
        for name, field in value.model_fields.items():
            yield row(name, field.annotation, field.description)
    elif inspect.isclass(value) and issubclass(value, Enum):
        yield from (f"| `{each.name}` | `{each.value}` | |" for each in value)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if not field.name.startswith("_"):
                yield row(field.name, field.type, None)


def row(name: str, annotation: object, description: str | None) -> str:
    """Return one table row."""
    is_plain = inspect.isclass(annotation) and not hasattr(annotation, "__args__")
    written = annotation.__name__ if is_plain else str(annotation)
    return f"| `{name}` | `{short(written).replace('|', chr(92) + '|')}` | {description or ''} |"


def methods_of(value: Any) -> Iterator[str]:
    """Yield the public methods and properties that a class defines itself, each with its docstring's first line."""
    if not inspect.isclass(value) or issubclass(value, (Enum, BaseException)):
        return
    for name, member in vars(value).items():
        if name.startswith("_") or isinstance(member, type) or name in {"model_config", "model_post_init"}:
            continue
        inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        if not inspect.isfunction(inner) or not inner.__doc__:
            continue
        call = "" if isinstance(member, property) else signature_of(inner)
        call = re.sub(r"\((?:self|cls)(?:, )?", "(", call, count=1)
        prefix = "async " if inspect.iscoroutinefunction(inner) else ""
        first = inspect.cleandoc(inner.__doc__).partition("\n")[0]
        yield ""
        yield f"- `{prefix}{name}{call}`: {first}"


if __name__ == "__main__":
    main()
