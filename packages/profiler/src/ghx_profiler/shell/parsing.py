"""Reading shell text down to the commands it runs, with the grammar of tree-sitter-bash."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ghx_profiler.shell.command import Command, Script
from ghx_profiler.shell.wrappers import REPEATERS, ShellText, behind, commands_of_find, reads_script_from_input

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\]|\n)')
_ANSI_C = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_C_LETTERS: Mapping[str, str] = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}


def plain(text: str) -> str:
    r"""Read a bare word: `a\ b` is `a b`, and a line that ends in a backslash goes on."""
    return _ESCAPED.sub(_keep_quoted, text)


def double_quoted(text: str) -> str:
    """Read what stands between double quotes; expansions stay as they are."""
    return _ESCAPED_IN_QUOTES.sub(_keep_quoted, text)


def ansi_c_quoted(text: str) -> str:
    r"""Read what stands between `$'` and `'`, where `\n` is a line break."""
    return _ANSI_C.sub(_ansi_c, text)


def _keep_quoted(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _ansi_c(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ANSI_C_LETTERS.get(escape, escape)


LONGEST = 8_192
"""Characters that are handed to the parser; error recovery takes time that grows faster than the text."""
MOST_STRUCTURE = 600
"""Brackets and operators that are handed to the parser, for the same reason."""
_STRUCTURE = re.compile(r"[()<>|&;{}$`\[\]=]")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+|.""", re.DOTALL)
_HEREDOC = re.compile(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_]\w*))")
_KEPT = 64
_LONGEST_WORD = re.compile(r"(\S{512})\S+")


def within_bounds(text: str) -> tuple[str, bool]:
    """Return text that is safe to parse, and whether it is all of it.

    Text within the bounds comes back as it is. Otherwise the data in it is shortened first, which is the bodies of
    here-documents and long quotations, so that the commands behind them are still seen; then the rest is cut off.
    """
    text = text.replace("\0", " ")
    if len(text) <= LONGEST and sum(1 for _ in _STRUCTURE.finditer(text)) <= MOST_STRUCTURE:
        return text, True
    unquoted = _QUOTED.sub(_shortened, "".join(_without_bodies(text[: LONGEST * 64])))
    return _cut(_LONGEST_WORD.sub(r"\1", unquoted)), False


def _cut(text: str) -> str:
    text = text[:LONGEST]
    for count, match in enumerate(_STRUCTURE.finditer(text)):
        if count == MOST_STRUCTURE:
            return text[: match.start()]
    return text


def _without_bodies(text: str) -> Iterator[str]:
    """Yield the lines of the text without the bodies of here-documents."""
    lines = text.splitlines(keepends=True)
    last_seen = {line.strip(): at for at, line in enumerate(lines)}
    at = 0
    while at < len(lines):
        yield lines[at]
        opened = [next(filter(None, match.groups())) for match in _HEREDOC.finditer(lines[at])]
        at += 1
        for delimiter in opened:
            # Only where it is closed: `<<` also stands in arithmetic and in quotations.
            if last_seen.get(delimiter, -1) < at:
                continue
            while lines[at].strip() != delimiter:
                at += 1
            yield lines[at]
            at += 1


def _shortened(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] not in "'\"" or len(token) <= _KEPT + 2:
        return token
    return token[0] + re.sub(r"[^\w\s./:-]", "", token[1 : 1 + _KEPT]) + token[0]


if TYPE_CHECKING:  # loaded when the first shell text is read, and not with the profiler
    from tree_sitter import Language, Node, Tree

    Step = Callable[[], None] | tuple[Node, "_Context"]
    """What there is to do: a node to look into, or something to note once all before it is done."""
MOST_COMMANDS = 200
_DEEPEST = 8
"""Shells within shells, functions within functions, wrappers within wrappers."""
_HEREDOC_DATA = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"})


def parse_shell(text: str) -> Script:
    """Return the commands that the text runs, in the order in which they start.

    A command in `$(...)` starts before the one whose words it makes. Each branch of an `if` counts, each loop counts
    once; a function counts where it is called, and not where it is defined. Assignments and `[[ tests ]]` are no
    commands. `sudo`, `env`, `timeout`, `xargs`, `bash -c` and their like are replaced by what they run. Broken text
    gives what can be read of it; no text raises, and none takes long.
    """
    return _read_once(text)


@lru_cache(maxsize=256)
def _read_once(text: str) -> Script:
    """Read a text that several analyzers of the same session ask for."""
    reader = _Reader()
    reader.read(text, _Context())
    return reader.script()


def script_of_words(words: tuple[str, ...]) -> Script:
    """Return the commands that are run by a program with these words, started without a shell."""
    reader = _Reader()
    if words and words[0]:
        reader.run(words, _Context())
    return reader.script()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """Where in the text something stands."""

    piped: bool = False
    nested: bool = False
    depth: int = 0
    calling: frozenset[str] = frozenset()

    def deeper(self) -> "_Context":
        return replace(self, depth=self.depth + 1)


@dataclass(frozen=True, slots=True)
class _Source:
    """A parsed text with its bytes, which nodes point into."""

    data: bytes
    tree: "Tree"

    def text(self, node: "Node", start: int = 0, end: int = 0) -> str:
        """Return the text of a node, without so many bytes at its start and end."""
        return self.data[node.start_byte + start : node.end_byte - end].decode(errors="replace")


@dataclass(slots=True)
class _Reader:
    """Collects commands; the tree is walked without recursion, since hostile text nests deeply."""

    commands: list[Command] = field(default_factory=list[Command])
    functions: dict[str, "tuple[_Source, Node]"] = field(default_factory=dict[str, "tuple[_Source, Node]"])
    has_fallback: bool = False
    has_loop: bool = False
    is_whole: bool = True

    def script(self) -> Script:
        """Return what was read."""
        return Script(
            commands=tuple(self.commands),
            has_fallback=self.has_fallback,
            has_loop=self.has_loop,
            is_whole=self.is_whole,
        )

    def read(self, text: str, context: _Context) -> None:
        """Read shell text."""
        if context.depth > _DEEPEST:
            self.is_whole = False
            return
        text, is_whole = within_bounds(text)
        self.is_whole &= is_whole
        data = text.encode(errors="replace")
        source = _Source(data, _parsed(data))
        self._walk(source, source.tree.root_node, context)

    def run(self, words: tuple[str, ...], context: _Context) -> None:
        """Note a command, or what it runs in its place."""
        if len(self.commands) >= MOST_COMMANDS or context.depth > _DEEPEST:
            self.is_whole = False
            return
        function = self.functions.get(words[0])
        if function is not None and words[0] not in context.calling:
            self._walk(*function, replace(context.deeper(), calling=context.calling | {words[0]}))
            return
        self.has_loop |= words[0].rsplit("/", 1)[-1] in REPEATERS
        match behind(words):
            case None:
                command = Command(words=words, piped=context.piped, nested=context.nested)
                self.commands.append(command)
                for command_words in commands_of_find(words) if command.program == "find" else ():
                    self.run(command_words, context.deeper())
            case ShellText(source):
                self.read(source, context.deeper())
            case inside:
                self.run(inside, context.deeper())

    def _walk(self, source: _Source, root: "Node", context: _Context) -> None:
        pending: list[Step] = [(root, context)]
        while pending and len(self.commands) < MOST_COMMANDS:
            step = pending.pop()
            if callable(step):
                step()
            else:
                pending.extend(reversed(list(self._steps(source, *step))))
        self.is_whole &= not pending

    def _steps(self, source: _Source, node: "Node", context: _Context) -> "Iterator[Step]":
        """Yield what there is to do for a node."""
        match node.type:
            case "command":
                yield from self._command(source, node, context)
            case "redirected_statement":
                yield from self._redirected(source, node, context)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    yield lambda: self.functions.update({source.text(name): (source, body)})
            case "pipeline":
                for stage, child in enumerate(node.named_children):
                    yield child, replace(context, piped=context.piped or stage > 0)
            case "list":
                self._look_for_fallback(node)
                yield from _children(node, context)
            case "for_statement" | "c_style_for_statement" | "while_statement":
                self.has_loop = True
                yield from _children(node, context)
            case "command_substitution" | "process_substitution":
                yield from _children(node, replace(context, nested=True, piped=False))
            case _:
                yield from _children(node, context)

    def _command(
        self, source: _Source, node: "Node", context: _Context, redirected: "Node | None" = None
    ) -> "Iterator[Step]":
        """Yield the commands in a command's words, then itself, or the script that it is fed."""
        words = _words(source, node)
        if redirected is not None:
            words += _words_before_heredoc(source, node, redirected)
        yield from _children(node, replace(context, nested=True))
        fed_in = list(_texts_fed_in(source, redirected or node))
        if words and words[0] and fed_in and reads_script_from_input(words):
            for text in fed_in:
                yield lambda text=text: self.read(text, context.deeper())
        elif words and words[0]:
            yield lambda: self.run(words, context)

    def _redirected(self, source: _Source, node: "Node", context: _Context) -> "Iterator[Step]":
        """Yield what must be known before the statement can start, the statement, and what stands behind `<<EOF`."""
        body, redirects = node.child_by_field_name("body"), node.children_by_field_name("redirect")
        for redirect in redirects:
            is_heredoc = redirect.type == "heredoc_redirect"
            parts = [part for part in redirect.named_children if part.type in _HEREDOC_DATA]
            yield from ((part, context) for part in (parts if is_heredoc else [redirect]))
        if body is not None and body.type == "command":
            yield from self._command(source, body, context, node)
        elif body is not None:
            yield body, context
        for heredoc in redirects:
            if heredoc.type == "heredoc_redirect":
                # The grammar counts the rest of the line in: `cat <<EOF | sort`, `cat <<EOF && ls`.
                self._look_for_fallback(heredoc)
                for part in heredoc.named_children:
                    if part.type not in _HEREDOC_DATA:
                        yield part, replace(context, piped=context.piped or part.type == "pipeline")

    def _look_for_fallback(self, node: "Node") -> None:
        self.has_fallback |= any(child.type == "||" for child in node.children)


def _children(node: "Node", context: _Context) -> "Iterator[Step]":
    for child in node.named_children:
        yield child, context


def _words(source: _Source, command: "Node") -> tuple[str, ...]:
    children = enumerate(command.children)
    return tuple(
        _word(source, child) for at, child in children if command.field_name_for_child(at) in {"name", "argument"}
    )


def _words_before_heredoc(source: _Source, command: "Node", redirected: "Node") -> tuple[str, ...]:
    """Return the words that the grammar loses between a command and its `<<`, such as the `-` of `--input - <<EOF`."""
    start = min(redirect.start_byte for redirect in redirected.children_by_field_name("redirect"))
    return tuple(source.data[command.end_byte : start].decode(errors="replace").split())


def _word(source: _Source, node: "Node") -> str:
    match node.type:
        case "command_name" | "concatenation":
            return "".join(_word(source, child) for child in node.children)
        case "string":
            return double_quoted(source.text(node, 1, 1))
        case "raw_string":
            return source.text(node, 1, 1)
        case "ansi_c_string":
            return ansi_c_quoted(source.text(node, 2, 1))
        case "word":
            return plain(source.text(node))
        case _:
            return source.text(node)


def _texts_fed_in(source: _Source, node: "Node") -> Iterator[str]:
    """Yield the here-documents and here-strings of a command or a redirected statement."""
    for redirect in node.children_by_field_name("redirect"):
        for part in redirect.named_children:
            if part.type == "heredoc_body":
                yield source.text(part)
            elif redirect.type == "herestring_redirect":
                yield _word(source, part)


_ASCII = bytes(code if code < 128 else ord("x") for code in range(256))  # noqa: PLR2004 - the end of ASCII
"""Letters in place of what is not ASCII, byte for byte: the grammar's scanner crashes on some of it, as on `{é`."""


def _parsed(data: bytes) -> "Tree":
    from tree_sitter import Parser  # noqa: PLC0415 - the profiler starts without it

    return Parser(_grammar()).parse(data.translate(_ASCII))


@cache
def _grammar() -> "Language":
    import tree_sitter_bash  # noqa: PLC0415 - the profiler starts without it
    from tree_sitter import Language  # noqa: PLC0415 - the same

    return Language(tree_sitter_bash.language())
