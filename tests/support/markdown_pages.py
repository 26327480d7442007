"""Reads the Python and the commands that a Markdown page shows, and says what is wrong with them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from forked_commands import run_forked

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))

PYTHON_PAGES = ("python/agents.md", "python/eval.md", "python/profiler.md", "python/twin.md")
GENERATED = {"capabilities.md", "code-map.md", "twin-support.md", *PYTHON_PAGES}
"""Pages that `make docs` writes; `test_generated_pages` has their tests."""

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)")
OPT_OUT = re.compile(r"^\s*<!-- not run: \S.*-->\s*$")
OURS = {"ghx", "ghx-bench", "ghx-twin"}
FOREIGN = {"brew", "cd", "claude", "export", "gh", "npx", "pip", "pipx", "uv", "uvx"}
"""Programs that a reader has or gets from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a document; `<!-- not run: why -->` on the line above it opts out."""

    language: str
    line: int
    lines: tuple[str, ...]
    opted_out: bool


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text; `line` is that of the first line inside, counted from 1."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if not opening:
            continue
        start, indent = number, opening["indent"]
        while lines[number] != f"{indent}```":
            number += 1
        yield Block(
            language=opening["language"],
            line=start + 1,
            lines=tuple(line.removeprefix(indent) for line in lines[start:number]),
            opted_out=start > 1 and bool(OPT_OUT.match(lines[start - 2])),
        )
        number += 1


def program_of(text: str) -> str:
    """Return the Python of a document as one program whose line numbers are those of the document."""
    program = [""] * len(text.splitlines())
    for block in blocks(text):
        if block.language == "python" and not block.opted_out:
            program[block.line - 1 : block.line - 1 + len(block.lines)] = block.lines
    return "\n".join(program)


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the words of each command that the console blocks show behind a `$`, pipes taken apart."""
    for block in blocks(text):
        if block.language == "console" and not block.opted_out:
            shown = "\n".join(block.lines).replace("\\\n", " ")
            for line in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
                yield from split_commands(line)


def split_commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("&|;"):
            if words:
                yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)


def complaint(words: list[str]) -> str | None:
    """Say what is wrong with a command, if anything."""
    program, *arguments = words
    name = Path(program).name
    if name in OURS:
        return complaint_about_ours(name, arguments)
    if name == "make":
        unknown = [word for word in arguments if "=" not in word and not has_target(word)]
        return f"no such target: {unknown}" if unknown else None
    if re.fullmatch(r"python[\d.]*", name):
        missing = [word for word in arguments if word.endswith(".py") and not (ROOT / word).exists()]
        return f"no such file: {missing}" if missing else None
    if "/" in program and not (ROOT / program).exists():
        return f"no such file: {program}"
    return None if "/" in program or name in FOREIGN or shutil.which(name) else f"no such program: {name}"


def has_target(name: str) -> bool:
    return re.search(rf"^{re.escape(name)}:", (ROOT / "Makefile").read_text(), re.MULTILINE) is not None


def complaint_about_ours(command: str, arguments: list[str]) -> str | None:
    """Ask the command itself for the help on these arguments, and look for its flags there."""
    arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments  # behind it is another's command
    flags = [word.split("=")[0] for word in arguments if word.startswith("--")]
    until_flags = list(arguments[: next((i for i, word in enumerate(arguments) if word.startswith("-")), None)])
    result = help_of(command, *until_flags)
    if result.returncode != 0:
        return result.stderr
    unknown = [flag for flag in flags if not re.search(rf"(?<![\w-]){flag}(?![\w-])", result.stdout)]
    return f"`{command} --help` does not know {unknown}" if unknown else None


@cache
def help_of(command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Return what a command says on `--help`; documents show few commands, many times."""
    wide = os.environ | {"COLUMNS": "200"}
    return run_forked(SCRIPTS / command, [*arguments, "--help"], folder=ROOT, environment=wide)


def run_program_of(document: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the Python of a document as one program, in this folder."""
    # Not by the name of the document: a `statistics.py` would hide the module of that name.
    program = folder / f"of_{document.stem}.py"
    program.write_text(program_of(document.read_text()))
    return subprocess.run(
        [sys.executable, "-W", "error", program], cwd=folder, capture_output=True, text=True, check=False
    )


def complaints_about(document: Path) -> dict[str, str]:
    """Return what is wrong with the commands that a document shows."""
    complaints = {shlex.join(words): complaint(words) for words in commands_of(document.read_text())}
    return {command: text for command, text in complaints.items() if text}
