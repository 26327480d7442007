"""Templates of a scenario and its solution: they work unchanged, and have comments on what to change."""

import json
import re
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import TypeAdapter, ValidationError

from ghx_base.errors import InputError, OperationError
from ghx_base.problems import shortened
from ghx_bench.project.folders import SUFFIXES
from ghx_bench.scenario.eval_scenario import Category, ScenarioId
from ghx_profiler.agents.controls.solution import SUFFIX

Format = Literal["yaml", "json"]

TASKS = Path(__file__).parents[1] / "starters"
"""For each category a small task, how it is checked, and its solution."""

_ID: TypeAdapter[str] = TypeAdapter(ScenarioId)
_TIMEOUT_MS = 180_000
_FIXTURE_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

_REMARKS = {
    "prompt": "What the agent is told. {{variables}} are replaced before each iteration.",
    "fixture": """\
What has to be there before the agent starts (fixtures, by name), and the variables that stand for it: the path of each
in the manifest of fixtures. Besides these there are owner, repo_name, fixture_repo (the configured one) and run_id.""",
    "assertions": """\
What is verified afterwards, in this order: a capability is called, and its output must satisfy the condition. Say what
must be there, not merely that something is: who does nothing must fail, and so must who does half of it.""",
    "extensions": "What the agent may change. Whatever else it changes on the embedded GitHub counts against it.",
}
"""What is said above each part of the scenario."""

_SOLUTION_REMARK = """\
# How it is done, with the tools of each mode: the reference agent follows it, which proves that it can be done.
# {{names}} are the variables of the scenario, and what steps save.
"""


def write_starter(id_: str, folder: Path, *, category: Category | None = None, format_: Format = "yaml") -> Path:
    """Write the first draft of a scenario, and its solution next to it, into a folder, which is made if need be.

    Never over another file. Returns where the scenario is.
    """
    path, solution = folder / f"{id_}.{format_}", folder / f"{id_}{SUFFIX}"
    _check_id(id_, path)
    about = category or _category_of(id_)
    _write({path: starter_text(id_, category=about, format_=format_), solution: solution_text(about)}, folder)
    return path


def copy_scenario(source: Path, old: str, id_: str, folder: Path) -> list[Path]:
    """Write a copy of a scenario under another id, with its solution if it has one; return the files.

    Never over another file.
    """
    path, solution = folder / f"{id_}{source.suffix}", source.with_name(f"{old}{SUFFIX}")
    _check_id(id_, path)
    texts = {path: _renamed(source, "id", old, id_)}
    if solution.is_file():
        texts[folder / f"{id_}{SUFFIX}"] = solution.read_text(encoding="utf-8")
    _write(texts, folder)
    return list(texts)


def copy_fixture(source: Path, old: str, name: str, folder: Path, *, seed: Path | None) -> list[Path]:
    """Write a copy of a fixture under another name, with the seed of its world; return the files.

    Never over another file.
    """
    if not _FIXTURE_NAME.fullmatch(name):
        hint = "write lower-case words, joined by underscores: 'pr_with_changes'"
        raise InputError(f"{shortened(name)} cannot be the name of a fixture; {hint}")
    texts = {folder / f"{name}{source.suffix}": _renamed(source, "name", old, name)}
    if seed is not None:
        if not seed.is_file():
            raise InputError(f"{seed}: there is no such file, which fixture {old} names as its seed")
        text, copy = seed.read_text(encoding="utf-8"), folder / seed.name
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:  # one world may be that of several fixtures
            texts[copy] = text
    _write(texts, folder)
    return list(texts)


def _renamed(source: Path, key: str, old: str, new: str) -> str:
    """Return the text of a file with another id or name: the first that it has, comments and all left as they are."""
    text = source.read_text(encoding="utf-8")
    pattern = rf"""^(\s*\{{?\s*["']?{key}["']?\s*:\s*["']?){re.escape(old)}\b"""
    return re.sub(pattern, lambda match: match[1] + new, text, count=1, flags=re.MULTILINE)


def starter_text(id_: str, *, category: Category, format_: Format) -> str:
    """Return the first draft of a scenario."""
    text = _head(id_, category) + _with_remarks((TASKS / f"{category}.yaml").read_text(encoding="utf-8"))
    return text if format_ == "yaml" else json.dumps(yaml.safe_load(text), indent=2, ensure_ascii=False) + "\n"


def solution_text(category: Category) -> str:
    """Return how that draft is done."""
    return _SOLUTION_REMARK + (TASKS / f"{category}{SUFFIX}").read_text(encoding="utf-8")


def _write(texts: dict[Path, str], folder: Path) -> None:
    """Write files into a folder, or none of them if one is there already."""
    taken = [each for each in (folder, *texts) if each.is_file()]
    if taken:
        raise InputError(f"{taken[0]}: there is a file already; choose another id or folder")
    for path, text in texts.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise OperationError(f"{path}: the file cannot be written: {error.strerror or error}") from error


def _check_id(id_: str, path: Path) -> None:
    """Refuse an invalid scenario id, and one that another file in the folder has."""
    try:
        _ID.validate_python(id_)
    except ValidationError:
        refusal = f"{shortened(id_)} cannot be the id of a scenario"
        raise InputError(f"{refusal}; write lower-case words and three digits: 'pr-review-001'") from None
    for other in (path.with_name(f"{id_}{suffix}") for suffix in SUFFIXES):
        if other.exists() and other != path:
            raise InputError(f"{other}: there is a scenario with this id already; choose another id or folder")


def _category_of(id_: str) -> Category:
    """Guess the category by the first word of the id."""
    first = id_.partition("-")[0]
    return next((each for each in get_args(Category) if each == first), "issue")


def _head(id_: str, category: Category) -> str:
    name = id_.rpartition("-")[0].replace("-", " ").capitalize()
    return f"""\
# A scenario: a task for an agent, and how to tell that it was done. Check it with: ghx-bench check
# For completion in your editor: ghx-bench schema scenario > scenario.schema.json
id: {id_}
name: {json.dumps(name)}
description: What this scenario is for, and what makes it hard.
category: {category}  # pr, issue, workflow, release or repo
difficulty: basic  # basic, intermediate or advanced
tags: [{category}]  # any words, to select scenarios by
timeoutMs: {_TIMEOUT_MS}  # the longest the agent may take
allowedRetries: 1  # only after failures that are not the agent's, such as a lost connection
"""


def _with_remarks(task: str) -> str:
    """Put what is to be said about each part above it."""

    def remark(match: re.Match[str]) -> str:
        lines = _REMARKS[match[1]].splitlines()
        return "\n" + "".join(f"# {line}\n" for line in lines) + match[0]

    return re.sub(r"^(\w+):", remark, task, flags=re.MULTILINE)
