"""What is wrong with modes, in a configuration and in files of their own, as far as it can be seen without a start."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ghx_base.documents import Document, problem, read_document
from ghx_base.errors import DocumentError, InputError
from ghx_base.problems import Problem, Tokens, pointer_of
from ghx_bench.modes.definitions import Definitions, ModeDefinition, load_mode_definition, modes_pinned_to_paths
from ghx_bench.modes.program_path import COMMON, absence, explain_bad_start, find_tool
from ghx_bench.modes.program_words import name_of, source_of
from ghx_bench.modes.skills import BadSkillError, find_skills
from ghx_bench.project.config import EvalConfig


def mode_errors(document: Document, config: EvalConfig) -> Iterator[Problem]:
    """Yield the errors of mode files: paths, extended modes and unknown names."""
    filed, problems = _load_mode_files(config, document.path.parent)
    yield from problems
    if problems:
        return  # the modes of these files would only seem to be unknown
    try:
        pinned = modes_pinned_to_paths(config.modes, document.path.parent)
        definitions = Definitions((*config.mode_definitions, *filed, *pinned))
    except InputError as error:
        yield problem(document, "/modes", str(error))
        return
    described = [each.resolve_paths(document.path) for each in config.mode_definitions]
    for each, place in zip(described, _places(document, len(described)), strict=True):
        yield from _problems_in(each, document, place, definitions)
    for each, file in zip(filed, config.mode_files, strict=True):
        yield from _problems_in(each, read_document(document.path.parent / file), (), definitions)
    for index, name in enumerate(config.modes):
        try:
            definitions.whole(name)
        except InputError as error:
            yield problem(document, f"/modes/{index}", str(error))


def mode_file_errors(document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a mode in a file of its own."""
    try:
        yield from _problems_in(load_mode_definition(document.path), document, ())
    except DocumentError as error:
        yield from error.problems


def _problems_in(
    mode: ModeDefinition, document: Document, place: Tokens, definitions: Definitions | None = None
) -> Iterator[Problem]:
    """Yield paths of a mode that lead nowhere, programs that cannot be run, bad skills, and that it has no tools."""
    yield from mode.lost
    try:
        whole = (definitions or Definitions((mode,))).whole(mode.name)
        on_path = {*COMMON, *map(name_of, whole.tools)}
    except InputError:
        whole = on_path = None  # it extends a mode that is not there, which is told elsewhere
    if whole is not None and whole.shell is False and not whole.mcp_servers:
        reason = f"mode {mode.name!r} has neither a shell nor an MCP server, so that its agents have no tools"
        at = (*place, "shell") if mode.shell is False else place
        yield problem(document, pointer_of(at), reason, "leave out `shell: false`, or give it `mcp_servers`")
    try:
        find_skills(() if mode.lost else mode.skills)
    except BadSkillError as error:
        yield problem(document, pointer_of((*place, "skills")), str(error))
    commands = {("mcp_servers", name, "command"): server.command for name, server in mode.mcp_servers.items()}
    programs = {**{("tools", index): source_of(tool) for index, tool in enumerate(mode.tools)}, **commands}
    for tokens, program in programs.items():
        # Only a whole path that leads somewhere can be judged here; other names are looked up when a run starts.
        path = os.path.expanduser(program or "")  # noqa: PTH111 - Path raises for a user who is not there
        is_there = os.path.isabs(path) and os.path.exists(path)  # noqa: PTH110, PTH117 - Path raises for too long a name
        if not program or not is_there:
            continue
        if find_tool(program, {}) is None:
            yield problem(document, pointer_of((*place, *tokens)), absence(program, "install it"))
        elif on_path is not None and tokens[0] == "tools" and (reason := explain_bad_start(Path(path), on_path)):
            yield problem(document, pointer_of((*place, *tokens)), f"{program}: {reason}")


def _places(document: Document, count: int) -> Sequence[Tokens]:
    """Return where the modes of a configuration are described: in their own list first, then among the modes to run."""
    value = document.value if isinstance(document.value, dict) else {}
    listed, modes = value.get("mode_definitions"), value.get("modes")
    own: list[Tokens] = [("mode_definitions", index) for index in range(len(listed) if isinstance(listed, list) else 0)]
    entries = enumerate(modes if isinstance(modes, list) else ())
    return [*own, *(("modes", index) for index, each in entries if isinstance(each, dict))][:count]


def _load_mode_files(config: EvalConfig, folder: Path) -> tuple[list[ModeDefinition], list[Problem]]:
    definitions: list[ModeDefinition] = []
    problems: list[Problem] = []
    for file in config.mode_files:
        try:
            definitions.append(load_mode_definition(folder / file))
        except DocumentError as error:
            problems += error.problems
    return definitions, problems
