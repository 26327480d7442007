"""Write docs/python/: a page for each public package, from its exports and the examples in docs/python/examples/.

    python scripts/python_docs.py [FOLDER]    write `python/` into docs/, or into this folder; `make docs` calls this

An export without a text or an example is an error.

An example is a part of `docs/python/examples/PACKAGE.py` that begins with `# %% Name, Name`: the exports it shows.
Parts stand on the page in their order, and the tests run each page from top to bottom like any other.
"""

import ast
import dataclasses
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, ClassVar, ForwardRef, Literal, Union, get_args, get_origin

from pydantic import BaseModel

PAGES = Path(__file__).parents[1] / "docs" / "python"
PACKAGES = {
    "profiler": "ghx_profiler",
    "eval": "ghx_bench",
    "agents": "ghx_profiler.agents",
    "twin": "ghx_twin",
}
LONGEST_LINE = 120
ONE_BY_ONE = re.compile(r"(?<=\w)\((?=\w)|, (?=\*?\w+: |\*, )|\)(?= -> [^()]*$)")
PART = re.compile(r"^# %% (.+)$", re.MULTILINE)


def main() -> None:
    """Write the pages."""
    folder = (Path(sys.argv[1]) / "python") if sys.argv[1:] else PAGES
    folder.mkdir(exist_ok=True)
    wrong: list[str] = []
    for name, package in PACKAGES.items():
        module, parts = importlib.import_module(package), list(examples(name))
        wrong += missing(module, parts)
        (folder / f"{name}.md").write_text(page(name, module, parts), encoding="utf-8")
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
    """Yield the lines about one export: its heading, what it is, its docstring, its fields and its methods."""
    yield f"## {name}"
    yield ""
    yield from (*head_of(name, value), "", text_of(value, module, name))
    fields = list(fields_of(value))
    if fields:
        yield ""
        yield from fields
    for line in methods_of(value):
        yield ""
        yield line


def head_of(name: str, value: Any) -> Iterator[str]:
    """Yield what kind of thing an export is: its bases, its signature, or what an alias stands for."""
    if inspect.isfunction(value):
        call = f"{async_of(value)}{name}{signature_of(value)}"
        # A long line is a puzzle: one parameter on each then.
        yield f"`{call}`" if len(call) <= LONGEST_LINE else f"```text\n{one_by_one(call)}\n```"
        return
    if not inspect.isclass(value):
        inner = {text: alias for text, alias in alias_names().items() if alias != name}
        yield f"`{name} = {type_text(value, inner)}`"
        return
    bases = [f"`{each.__name__}`" for each in value.__mro__[1:] if each.__name__ in public_types()]
    kind = "Protocol" if is_protocol(value) else "exception" if issubclass(value, BaseException) else "class"
    yield f"*{kind}*" + (f", a kind of {bases[0]}" if bases else "")
    is_record = issubclass(value, (BaseModel, Enum)) or dataclasses.is_dataclass(value) or is_protocol(value)
    is_made_by_method = any(isinstance(each, classmethod) for each in vars(value).values())
    if not is_record and not is_made_by_method and "__init__" in vars(value) and signature_of(value) != "()":
        yield ""
        yield f"`{name}{signature_of(value)}`"


def one_by_one(call: str) -> str:
    """Return a signature with each parameter on a line of its own."""
    written = {"(": "(\n    ", ", ": ",\n    ", ")": ",\n)"}
    return ONE_BY_ONE.sub(lambda found: written[found[0]], call)


def is_protocol(value: type) -> bool:
    """Return whether a class is a Protocol itself, and not merely an implementation of one."""
    return bool(vars(value).get("_is_protocol"))


@cache
def public_types() -> frozenset[str]:
    """Return the names of the classes that any of the packages exports."""
    modules = [importlib.import_module(each) for each in PACKAGES.values()]
    return frozenset(name for each in modules for name in each.__all__ if inspect.isclass(getattr(each, name)))


def text_of(value: Any, module: ModuleType, name: str) -> str:
    """Return the docstring of an export; that of an alias stands below it in the source."""
    own = vars(value).get("__doc__") if inspect.isclass(value) else getattr(value, "__doc__", None)
    if (inspect.isclass(value) or inspect.isfunction(value)) and own:
        return inspect.cleandoc(own)
    home = importlib.import_module(home_of(module, name))
    return texts_below(ast.parse(inspect.getsource(home)).body).get(name, "")


def texts_below(statements: list[ast.stmt]) -> dict[str, str]:
    """Return the strings that stand below assignments, by the name that is assigned to."""
    texts: dict[str, str] = {}
    for assignment, below in itertools.pairwise(statements):
        if isinstance(assignment, (ast.Assign, ast.AnnAssign)) and isinstance(below, ast.Expr):
            target = assignment.target if isinstance(assignment, ast.AnnAssign) else assignment.targets[0]
            if isinstance(target, ast.Name) and isinstance(below.value, ast.Constant):
                texts[target.id] = inspect.cleandoc(str(below.value.value))
    return texts


def home_of(module: ModuleType, name: str) -> str:
    """Return the module that defines an export, as the package's own imports name it."""
    found = re.search(rf"from (\S+) import (?:\([^)]*?\b{name}\b|[^\n(]*\b{name}\b)", inspect.getsource(module))
    return found[1] if found else module.__name__


def async_of(value: Any) -> str:
    """Return `async ` for a function that is awaited."""
    return "async " if inspect.iscoroutinefunction(value) else ""


@dataclasses.dataclass(frozen=True)
class Words:
    """Text in the place of an annotation or a default, which `inspect` then writes as it is."""

    text: str

    def __repr__(self) -> str:
        return self.text


def signature_of(value: Any) -> str:
    """Return the signature of a function or class, without `self`; a default that takes more than a word is `...`."""
    signature = inspect.signature(value)
    parameters = [
        each.replace(annotation=words_of(each.annotation), default=default_of(each.default))
        for each in signature.parameters.values()
        if each.name not in {"self", "cls"}
    ]
    returns = signature.return_annotation
    is_scope = inspect.isasyncgenfunction(inspect.unwrap(value)) or inspect.isgeneratorfunction(inspect.unwrap(value))
    if is_scope and hasattr(value, "__wrapped__"):  # `contextmanager` keeps the annotation of the generator
        kind = "AsyncContextManager" if inspect.isasyncgenfunction(inspect.unwrap(value)) else "ContextManager"
        returns = Words(f"{kind}[{type_text(get_args(returns)[0])}]")
    elif inspect.isclass(value):
        returns = signature.empty
    else:
        returns = words_of(returns)
    return str(signature.replace(parameters=parameters, return_annotation=returns))


def words_of(annotation: Any) -> Any:
    """Return an annotation in words, or that there is none."""
    return annotation if annotation is inspect.Parameter.empty else Words(type_text(annotation))


def default_of(default: Any) -> Any:
    """Return a default in words, or that there is none."""
    return default if default is inspect.Parameter.empty else Words(value_text(default))


def value_text(value: Any) -> str:
    """Return a value as it is written; what takes more than a word is `...`."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Mapping) and not value:
        return "{}"
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain or value in ((), frozenset()) else "..."


def type_text(annotation: Any, names: Mapping[str, str] | None = None) -> str:
    """Return a type as people write it: short names, those of aliases, and nothing of what validates it."""
    names = alias_names() if names is None else names
    origin, arguments = get_origin(annotation), [] if get_origin(annotation) is Literal else get_args(annotation)
    parts = [type_text(each, names) for each in arguments]
    match annotation:
        case str():
            text = re.sub(r"\b[a-z_][\w.]*\.(?=[A-Z])", "", annotation)
        case ForwardRef():
            text = type_text(annotation.__forward_arg__, names)
        case list():
            text = f"[{', '.join(type_text(each, names) for each in annotation)}]"
        case _ if origin is Annotated:
            text = type_text(annotation.__origin__, names)
        case _ if origin in (Union, UnionType):
            text = " | ".join(parts)
        case _ if origin is Literal:
            text = f"Literal[{', '.join(map(repr, get_args(annotation)))}]"
        case _ if annotation in (None, type(None), ...):
            text = "..." if annotation is ... else "None"
        case _:
            text = getattr(origin or annotation, "__name__", str(annotation)).removeprefix("Abstract")
            text += f"[{', '.join(parts)}]" if parts else ""
    return names.get(text, text)


@cache
def alias_names() -> Mapping[str, str]:
    """Return the names of the exported aliases by what they stand for, which would often fill a whole line."""
    modules = [importlib.import_module(each) for each in PACKAGES.values()]
    exports = {name: getattr(each, name) for each in modules for name in each.__all__}
    aliases = {name: value for name, value in exports.items() if not inspect.isclass(value) and get_args(value)}
    names: dict[str, str] = {}
    # Short ones first: an alias may stand in a longer one.
    for name in sorted(aliases, key=lambda each: len(type_text(aliases[each], {}))):
        names[type_text(aliases[name], names)] = name
    return names


def fields_of(value: Any) -> Iterator[str]:
    """Yield a table of the fields of a record, or of the members of an enumeration."""
    if not inspect.isclass(value):
        return
    texts = field_texts(value)
    if issubclass(value, Enum):
        yield from ("| member | value |", "|---|---|", *(f"| `{each.name}` | `{each.value}` |" for each in value))
        return
    rows: list[str] = []
    if issubclass(value, BaseModel):
        for name, field in value.model_fields.items():
            default = "" if field.is_required() else value_text(field.default if field.default_factory is None else ...)
            rows.append(row(name, field.alias, field.annotation, default, field.description or texts.get(name, "")))
    elif dataclasses.is_dataclass(value):
        for (
            field
        ) in value.__dataclass_fields__.values():  # `fields` would leave out what is given to the constructor only
            kind = field.type.type if isinstance(field.type, dataclasses.InitVar) else field.type
            is_required = field.default is field.default_factory is dataclasses.MISSING
            default = value_text(... if field.default is dataclasses.MISSING else field.default)
            if not field.name.startswith("_") and get_origin(kind) is not ClassVar:
                rows.append(row(field.name, None, kind, "" if is_required else default, texts.get(field.name, "")))
    if rows:
        yield from ("| field | type | default | |", "|---|---|---|---|", *rows)


def field_texts(value: type) -> dict[str, str]:
    """Return the strings below the fields of a class and of its bases."""
    texts: dict[str, str] = {}
    for each in reversed(value.__mro__):
        # A generic that pydantic filled in, such as `RootModel[...]`, is made without source.
        if (
            each.__module__.startswith(("ghx_base.", "ghx_bench", "ghx_profiler", "ghx_tools", "ghx_twin"))
            and "[" not in each.__name__
        ):
            source = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            texts |= texts_below(source.body if isinstance(source, ast.ClassDef) else [])
    return texts


def row(name: str, alias: str | None, annotation: object, default: str, text: str) -> str:
    """Return one table row; the name in files stands below that in Python, where the two differ."""
    names = f"`{name}`" if alias in (None, name) else f"`{name}`<br>`{alias}`"
    kind = type_text(annotation).replace("|", "\\|")
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?<!`)(\{\{\w+\}\})(?!`)", r"`\1`", text).replace("|", "\\|")
    return f"| {names} | `{kind}` | {f'`{default}`' if default else 'required'} | {text} |"


def methods_of(value: Any) -> Iterator[str]:
    """Yield the public methods and properties that a class defines itself, each with its docstring's first line."""
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return
    for name, member in vars(value).items():
        if name.startswith(("_", "model_")) or isinstance(member, type):
            continue
        inner = next((found for each in ("fget", "func", "__func__") if (found := getattr(member, each, None))), member)
        if not inspect.isfunction(inner) or not inner.__doc__:
            continue
        is_value = isinstance(member, (property, cached_property))
        prefix = "@classmethod " if isinstance(member, classmethod) else async_of(inner)
        first = inspect.cleandoc(inner.__doc__).partition("\n\n")[0]
        yield f"- `{prefix}{name}{'' if is_value else signature_of(inner)}`: {' '.join(first.split())}"


if __name__ == "__main__":
    main()
