"""The outcome of a tool call: by its own flags, and by its output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from ghx_profiler.failures.kinds import FailureKind, kind_of
from ghx_profiler.failures.outputs import Output, error_in, exit_code_at_end, read_output, reports_success
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell.calls import script_of
from ghx_profiler.shell.command import Command, Script
from ghx_profiler.shell.names import FILTERS, GLUE, leading_words, words_in
from ghx_profiler.shell.wrappers import SHELLS

_LONGEST_EVIDENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The outcome of a call; `failed` is `None` if unknown.

    Of a failure, `kind` is the reason, as far as known, and `evidence` is the line or message that shows it.
    """

    failed: bool | None
    kind: FailureKind | None = None
    evidence: str = ""


class Trust(IntEnum):
    """How much of the text that came back is the called program's own."""

    CONTENT = 0
    """Only requested content: a file, a log, search results."""
    SELECTION = 1
    """Parts of an answer that were picked out, such as the body of an issue."""
    ACCOUNT = 2
    """An answer that mixes the program's own words with third-party content."""
    REPORT = 3
    """A program's report of its own actions."""


READERS = FILTERS | words_in("""
    ag ack bat cmp dmesg diff fd file find hexdump journalctl ls man od stat strings tree xxd zcat zgrep zless
""")
_READING = words_in("blame cat cat-file diff grep log logs reflog shortlog")
_READING_OPTIONS = words_in("--comments --log --log-failed --logs --patch")
_SHOWING = words_in("""
    api comments describe dump export get history info inspect list ls print ps query read search show status view
""")
_FETCHERS = words_in("curl wget http https xh")
_PICKING = words_in("--format --jq --jsonpath --query --template -q -t")
_PICKERS = words_in("awk cut egrep fgrep gawk grep jq rg sed sort uniq yq")
_ANSWERS_WITH_ONE = words_in("cmp diff egrep expr fgrep grep pgrep rg test zgrep")
_READING_TOOL = re.compile(
    r"(?:^|[_.:/-])(?:read|view|open|cat|show|get)(?:_\w+)?_(?:file|files|contents?|log|logs|page|resource|url)s?$"
    r"|^(?:read|view|cat|grep|glob|ls|list|find|search|rg|codebase_?search|web_?fetch|web_?search|fetch|fs_?read"
    r"|read_?\w*files?|search_file_content|list_dir\w*|notebook_?read)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The possible sources of a call's output."""

    trust: Trust
    is_shell: bool = False
    programs: frozenset[str] = frozenset()
    only_reads: bool = False
    """Whether no program but readers of files and texts was run."""
    is_single: bool = False
    """Whether one program printed all of it, so that its complaint would come first."""
    exit_code_is_its_own: bool = False
    has_fallback: bool = False
    last_program: str = ""

    def answers_with(self, exit_code: int) -> bool:
        """Return whether the exit code is an answer, such as that a search found nothing, and not a failure."""
        return exit_code == 1 and self.last_program in _ANSWERS_WITH_ONE


def outcome_of_call(call: ToolCallEvent) -> CallOutcome:
    """Return the outcome of a tool call.

    It failed if it is flagged (its flag, its error), or if its output shows it: an exit code other than 0, a body that
    is nothing but an error (of HTTP, GraphQL, JSON-RPC, the Model Context Protocol, `"ok": false`), or a complaint of
    the program that was run. Whether a line is such a complaint or requested content depends on the command: a log file
    may be full of errors. It succeeded if none of this holds, and its flag or its output reports success.
    """
    output, scene = read_output(call.output), scene_of(call)
    visible = _visible_failure(output, scene)
    if call.success is False or call.error:
        return _reported_failure(call, output, visible)
    if visible is not None:
        return visible
    says_so = call.success or output.exit_code is not None or output.is_error is False
    return CallOutcome(failed=False if says_so or any(map(reports_success, output.documents)) else None)


def _reported_failure(call: ToolCallEvent, output: Output, visible: CallOutcome | None) -> CallOutcome:
    if visible is not None and not call.error:
        return visible
    message = call.error or output.text.strip() or " ".join(map(str, output.documents)) or "flagged as failed"
    kind = kind_of(f"{message[:_LONGEST_EVIDENCE]} {message[-_LONGEST_EVIDENCE:]}", exit_code=output.exit_code)
    if kind is FailureKind.UNKNOWN and visible is not None and visible.kind is not None:
        kind = visible.kind
    return _failure(message, kind)


def _visible_failure(output: Output, scene: Scene) -> CallOutcome | None:
    bodies = (error_in(document) for document in (output.documents if scene.trust is not Trust.CONTENT else ()))
    body = next((each for each in bodies if each is not None), None)
    if output.is_error:
        message = body or output.text.strip() or "flagged as an error"
        return _failure(message, kind_of(message))
    if body is not None:
        return _failure(body, kind_of(body))
    complaint, code = None, output.exit_code
    # A single program with exit code 0 does not complain, whatever it prints.
    if not (output.exit_code == 0 and scene.exit_code_is_its_own):
        complaint = _complaint_in(output.rest if output.documents else output.text, scene)
    if code is None and scene.is_shell and scene.trust is Trust.REPORT:
        code = exit_code_at_end(output.text)
    if code and not (scene.answers_with(code) and complaint is None):
        lines = reversed(output.text[-2_000:].splitlines())
        message = complaint or next((line for line in lines if line.strip()), "") or f"exit code {code}"
        return _failure(message, kind_of(message, exit_code=code))
    if output.was_cut_off:
        return _failure(complaint or "cut off before it was done", FailureKind.TIMEOUT)
    return None if complaint is None else _failure(complaint, kind_of(complaint))


def _failure(message: str, kind: FailureKind) -> CallOutcome:
    line = " ".join(message[: 2 * _LONGEST_EVIDENCE].split())
    evidence = line if len(line) <= _LONGEST_EVIDENCE else line[: _LONGEST_EVIDENCE - 1] + "…"
    return CallOutcome(failed=True, kind=kind, evidence=evidence)


# Lines by which programs report failure, as opposed to lines that merely mention errors.

_WINDOW = 60_000
"""Characters at the start and at the end that are looked at; programs complain there, if anywhere."""
_SHORT_LINES, _SHORT_CHARACTERS = 3, 600
_TAIL_LINES = 8
_STARTERS = SHELLS | {"(eval)", "env", "sudo", "timeout", "xargs", "nohup", "time"}
"""Programs that complain in place of those they cannot start."""

_PREFIXED = re.compile(
    # `bash: line 1: ...`, `dash: 1: ...`; zsh prints `zsh:1: ...`, and `(eval):1: ...` for evaluated text.
    r"(?:^|(?<=[}\]]))(?:[^\s:]{0,200}/)?(\(eval\)|[\w.+-]{1,40}):(?:\d+:)? (?:line \d+: |\d+: )?(\S.{0,400})",
    re.MULTILINE,
)
_COMPLAINING = re.compile(
    r"no such|not found|cannot|can't|could not|couldn't|unable to|fail(?:ed|ure)\b|error|invalid|illegal|unknown|denied"
    r"|unrecogni[sz]ed|missing|refused|timed out|\(HTTP [45]\d\d\)|unterminated|unexpected|does(?:n't| not) exist"
    r"|\*\*\*|fatal|must |required|unsupported|not a |bad |forbidden|unauthorized|too many|ambiguous|exists|is not "
    r"|limit|environment variable|no matches found|unmatched",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"(?:warning|notice|hint|note|info|debug|deprecated)\b|.*\(ignored\)$", re.IGNORECASE)
_HTTP_COMPLAINT = re.compile(r"^[\w./-]{1,40}: .{0,300}\(HTTP [45]\d\d\)$", re.MULTILINE)
_SERVICE_SAYS = re.compile(r"(?:.{1,80}: )?(?:HTTP [45]\d\d\b|GraphQL(?: error)?: )")
_SAYS_WHERE = re.compile(r".*\((?:https?://\S+|[\w.\[\]]+)\)")
"""The end of a service's message, which selected text with a similar beginning does not have."""
_SAYS_BY_ITSELF = re.compile(
    r"HTTP/[\d.]+ [45]\d\d\b|MCP error -?\d+|Request failed with status(?: code)?:? [45]\d\d|<tool_use_error>"
    r"|failed to run git: fatal: |no (?:open )?pull requests? found for branch |none of the git remotes "
)
_REFUSES_USAGE = re.compile(
    r"unknown [\w ]{2,24}: |unknown (?:flag|shorthand flag|command|option|argument)"
    r"|unrecogni[sz]ed (?:option|argument|command)"
    r"|flag needs an argument|accepts (?:at most |at least )?\d+ arg|required flag"
    r"|invalid (?:argument|option|choice|value)"
    r"|.{1,60}: error: (?:unrecognized|the following|argument|invalid)|error: unexpected argument",
    re.IGNORECASE,
)
_ERROR_FIRST = re.compile(
    r"(?i:fatal(?: error)?|error(?:\[\w+\])?|panic): *\S|E: [A-Z]|npm (?:ERR!|error)\b|Exception in thread"
    r"|thread '.{0,60}' panicked|Unhandled ?\w* |Uncaught \w|Error (?:executing|calling|running|invoking|from) "
    r"|(?:[A-Za-z_][\w.]{0,80})?(?:Error|Exception)(?: \[\w+\])?: \S"
)
_NO_ERROR = re.compile(r"errors?: *(?:0\b|none|null|no\b|false|\[\]|\(none\))", re.IGNORECASE)
_ERROR_LAST = re.compile(
    r"(?:error|fatal): \S|\S{1,200}?(?:\(\d+,\d+\)|:\d+(?::\d+)?): (?:fatal )?error\b"
    r"|npm (?:ERR!|error) \S|Node\.js v\d|FAILED \(|BUILD FAILED|test result: FAILED"
    r"|Automatic merge failed"
)
_TESTS_FAILED = re.compile(
    r"=*\s*(?:.*, )?[1-9]\d* (?:failed|errors?)\b.* in [\d.]+ ?m?s\b.*|Tests: +[1-9]\d* failed.*"
)
_SAYS_IT_FAILED = re.compile(
    r"(?:failed to|could not|couldn't|cannot|can't|unable to)\s+\w|no such \w|(?:permission|access) denied|not found\b"
    r"|.{0,60}command not found|(?:unauthorized|forbidden)\b(?! \w)"
    r"|(?:operation|request|command|connection) (?:timed out|refused)|timed? ?out (?:after|waiting)"
    r"|missing (?:required )?(?:argument|parameter|property|field)"
    r"|required (?:argument|parameter|property|field)|input validation error|validation (?:failed|error)"
    r"|invalid (?:input|parameters?|request|token|credentials)|unknown tool|tool \S+ (?:not found|failed)"
    r"|ENOENT|EACCES|ECONNREFUSED|file not found|path not found|no \w+(?: \w+)? found (?:for|with|matching)"
    r"|(?:40[0134589]|410|422|429|50[0234]) (?:bad|unauth|forb|not|method|req|conf|gone|unpr|too|int|serv|gate)"
    r"|api rate limit|you have exceeded|bad credentials|(?:string to replace|old_?string|search text) not found"
    r"|to get started with .{0,40} please run|resource not accessible|must provide|must specify"
    r"|you (?:are not|must be|need to be) (?:logged|authenticated|authori[sz]ed)"
    r"|.{1,160}: no such file or directory$|[\w ]{1,40} not found$",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"already exists|cannot be \w|not mergeable|not authorized|did not match any|prohibits|no commits between"
    r"|does not exist|not have permission|was not found|not accessible|automatic merge failed"
    r"|no changes added to commit",
    re.IGNORECASE,
)
_ENDS_WELL = re.compile(
    r"^(?!.*\b(?:not\b|[1-9]\d* (?:failed|errors?))).*(?:\b[1-9]\d* pass(?:ed|ing)\b"
    r"|\b(?:0|no) (?:errors|failures|failed)\b|\bsuccess(?:ful(?:ly)?)?\b|\bup[- ]to[- ]date\b)",
    re.IGNORECASE,
)
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\):$", re.MULTILINE)
_RAISED = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Timeout|Warning|Failed|Fault)\b(?:: .*)?"
    r"|[a-z_][\w.]*\.[A-Z]\w+(?:: .*)?"
)
_CUT_OFF = re.compile(
    r"\W*(?:<\w+>)?(?:error: )?(?:.{0,30}terminated (?:the )?command after exceeding timeout|command timed out"
    r"|(?:operation|tool call|execution) timed out|timed out after \d|user aborted the command"
    r"|tool execution (?:was )?aborted|request interrupted by user)",
    re.IGNORECASE,
)
_METADATA = re.compile(r"<\w*metadata>|<system>")


def _complaint_in(text: str, scene: Scene) -> str | None:
    """Return the line by which the called program reports failure, if any."""
    text = text if len(text) <= 2 * _WINDOW else f"{text[:_WINDOW]}\n{text[-_WINDOW:]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(_complaints(text, lines, scene), None) if lines else None


def _complaints(text: str, lines: list[str], scene: Scene) -> Iterator[str]:
    first, trust = lines[0], scene.trust
    yield from _cut_off(lines, trust)
    if scene.is_shell:
        yield from _prefixed(text, lines, scene)
    if not scene.only_reads and _shows_usage(lines) and (_REFUSES_USAGE.match(first) or first.startswith("Missing ")):
        yield first
    if trust is Trust.CONTENT:
        yield from _instead_of_content(lines, scene)
        return
    if _is_of_a_service(first, trust):
        yield first
    if trust is Trust.SELECTION:
        return
    yield from _traceback(text, lines, trust)
    if trust is Trust.REPORT and _ENDS_WELL.search(lines[-1]):
        return
    if _is_error(first) or (_is_short(lines) and (_SAYS_IT_FAILED.match(first) or _REFUSES_USAGE.match(first))):
        yield first
    if trust is Trust.REPORT:
        yield from _at_the_end(lines)


def _cut_off(lines: list[str], trust: Trust) -> Iterator[str]:
    is_expected = trust is Trust.REPORT or (trust is Trust.ACCOUNT and _is_short(lines))
    if is_expected or any(map(_METADATA.match, lines[-4:])):
        yield from (line for line in lines[-3:] if _CUT_OFF.match(line))


def _prefixed(text: str, lines: list[str], scene: Scene) -> Iterator[str]:
    """Yield complaints that begin with the name of a program that was run, or of one that should have started it."""
    start, names = len(text) - len(text.lstrip()), scene.programs | _STARTERS
    for match in _PREFIXED.finditer(text):
        name, message = match[1], match[2].strip()
        if name not in names or _HARMLESS.match(message) or not _COMPLAINING.search(message):
            continue
        if _is_own(name, lines, scene, is_first=match.start() == start, is_last=lines[-1].endswith(message)):
            yield f"{name}: {message}"
    if scene.trust is Trust.REPORT:
        yield from (match[0] for match in _HTTP_COMPLAINT.finditer(text))


def _is_own(name: str, lines: list[str], scene: Scene, *, is_first: bool, is_last: bool) -> bool:
    """Return whether a line that looks like a complaint is one, and not quoted content.

    A program that shows something complains instead of showing it, hence first; one of several may do so anywhere.
    """
    if scene.trust is Trust.CONTENT:
        return (is_first or is_last) and (name in READERS & scene.programs or len(lines) == 1)
    if scene.trust < Trust.REPORT and scene.is_single:
        return is_first
    return is_last or not scene.has_fallback


def _instead_of_content(lines: list[str], scene: Scene) -> Iterator[str]:
    first = lines[0]
    if "git" in scene.programs and first.startswith("fatal: "):
        yield first
    if len(lines) > 1 or scene.only_reads:
        return
    if _is_of_a_service(first, scene.trust) or (
        not scene.is_shell and (_is_error(first) or _SAYS_IT_FAILED.match(first))
    ):
        yield first


def _traceback(text: str, lines: list[str], trust: Trust) -> Iterator[str]:
    match = _TRACEBACK.search(text)
    if match is None or not _RAISED.fullmatch(lines[-1]):
        return
    if trust is Trust.REPORT or not text[: match.start()].strip():
        yield lines[-1]


def _at_the_end(lines: list[str]) -> Iterator[str]:
    if _is_short(lines) and _REFUSES.search(lines[0]):
        yield lines[0]
    if _is_error(lines[-1]):
        yield lines[-1]
    for line in lines[-_TAIL_LINES:]:
        if _TESTS_FAILED.fullmatch(line) or (_ERROR_LAST.match(line) and not _NO_ERROR.match(line)):
            yield line


def _shows_usage(lines: list[str]) -> bool:
    return any(
        line.lower().startswith(("usage", "available", "run '", "see '", "for more information, try"))
        for line in lines[:12]
    )


def _is_of_a_service(line: str, trust: Trust) -> bool:
    if _SAYS_BY_ITSELF.match(line):
        return True
    return _SERVICE_SAYS.match(line) is not None and (trust > Trust.SELECTION or bool(_SAYS_WHERE.fullmatch(line)))


def _is_error(line: str) -> bool:
    return _ERROR_FIRST.match(line) is not None and _NO_ERROR.match(line) is None


def _is_short(lines: list[str]) -> bool:
    return len(lines) <= _SHORT_LINES and sum(map(len, lines)) <= _SHORT_CHARACTERS


def scene_of(call: ToolCallEvent) -> Scene:
    """Return the possible sources of a call's output."""
    script = script_of(call)
    if script is not None:
        return _shell_scene(script)
    return Scene(trust=Trust.CONTENT if _READING_TOOL.search(call.name) else Trust.ACCOUNT, is_single=True)


def _shell_scene(script: Script) -> Scene:
    visible = [command for command in script.commands if not command.nested] or list(script.commands)
    working = [command for command in visible if not _passes_on(command)]
    is_single = len(working) == 1 and script.is_whole and not script.has_loop
    return Scene(
        trust=_trust_in(visible),
        is_shell=True,
        programs=frozenset(command.program for command in script.commands),
        only_reads=all(command.program in READERS | GLUE for command in script.commands),
        is_single=is_single,
        exit_code_is_its_own=is_single and visible[-1] is working[0] and not script.has_fallback,
        has_fallback=script.has_fallback,
        last_program=visible[-1].program if visible else "",
    )


def _trust_in(commands: list[Command]) -> Trust:
    """Return the trust in the most talkative command, less where only parts of its words are let through."""
    most, current = Trust.CONTENT, Trust.REPORT if not commands else Trust.CONTENT
    for command in commands:
        if command.piped and command.program in _PICKERS:
            current = min(current, Trust.SELECTION)
        elif not _passes_on(command):
            most, current = max(most, current), _trust_in_one(command)
    return max(most, current)


def _passes_on(command: Command) -> bool:
    return command.program in GLUE or (command.piped and command.program in FILTERS)


def _trust_in_one(command: Command) -> Trust:
    words = set(islice(leading_words(command.arguments), 2))
    options = {word.split("=")[0] for word in command.arguments if word.startswith("-")}
    if command.program in READERS or _READING & words or _READING_OPTIONS & options:
        return Trust.CONTENT
    if command.program == "git" and "show" in words:
        return Trust.CONTENT
    if command.program not in _FETCHERS and not _SHOWING & words:
        return Trust.REPORT
    return Trust.SELECTION if _PICKING & options else Trust.ACCOUNT
