"""What differs between two tool sets that were measured without a model: surface, answers, exposure, lint."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ghx_base.problems import plural
from ghx_base.wire import Count, WireModel
from ghx_bench.toolsets.answers import AnswerFigures, AnswerRow
from ghx_bench.toolsets.changes.exposure_changes import (
    ReadOnlyProof,
    StateChange,
    ToolExposureChange,
    compare_exposed_tools,
    compare_states,
)
from ghx_bench.toolsets.changes.tool_changes import ToolChange, compare_tools, pair_servers, pair_tools
from ghx_bench.toolsets.exposure.measurement import Exposure
from ghx_bench.toolsets.lint import LintFinding
from ghx_bench.toolsets.mode_settings import ModeSettings, SettingChange, compare_settings
from ghx_bench.toolsets.sizes import Size
from ghx_bench.toolsets.surface import ModeSurface, Surface

AnswerAspect = Literal[
    "outcome", "size", "text", "fields", "calls", "requests", "items", "over limit", "cut off", "hint"
]
"""What of an answer may change; `text` is another text of the same size, with the same fields."""


class SizeChange(WireModel):
    """A size before and after; `None` of what is not there."""

    name: str
    before: Size | None
    after: Size | None
    is_reworded: bool = False
    """Whether the text is another, of whatever size."""

    @property
    def has_changed(self) -> bool:
        """Whether there is a difference."""
        return self.is_reworded or self.before != self.after

    @property
    def growth(self) -> int:
        """The tokens that there are more, or fewer."""
        before, after = (0 if each is None else each.tokens for each in (self.before, self.after))
        return after - before


class AnswerChange(WireModel):
    """The answers to one question before and after; `None` of a mode that was not asked."""

    id: str
    before: AnswerRow | None
    after: AnswerRow | None
    aspects: tuple[AnswerAspect, ...]
    """What has changed; empty where nothing has."""
    new_fields: tuple[str, ...] = ()
    """Of answers in JSON before and after."""
    lost_fields: tuple[str, ...] = ()


class AnswerChanges(WireModel):
    """All questions, and the numbers of those that both modes answer."""

    questions: tuple[AnswerChange, ...]
    before: AnswerFigures | None
    after: AnswerFigures | None

    @property
    def changed(self) -> tuple[AnswerChange, ...]:
        """The questions whose answers differ."""
        return tuple(each for each in self.questions if each.aspects)


class StoppedAnswer(WireModel):
    """A question or a tool that was answered before and is not any more."""

    kind: Literal["question", "tool"]
    name: str
    is_gone: bool
    """Whether there is no such call or tool any more, rather than one that fails."""
    reason: str | None
    """What it says now."""

    @property
    def title(self) -> str:
        """What it is, by its name."""
        return f"{self.kind} {self.name} ({'gone' if self.is_gone else 'fails'})"


class LintChange(WireModel):
    """Findings that are new, and those that are gone."""

    new: tuple[LintFinding, ...]
    gone: tuple[LintFinding, ...]


class ToolSetChanges(WireModel):
    """What differs between two modes, as far as it can be measured without a model."""

    before: str
    after: str
    versions_before: dict[str, str | None]
    versions_after: dict[str, str | None]
    tokenizer: str
    tokens_are_estimated: bool
    told: SizeChange
    """All that is in the context before the first call."""
    instructions: tuple[SizeChange, ...]
    """Of the mode, and of each of its servers."""
    skills: tuple[SizeChange, ...]
    """What agents are given of skills, what these say, and their other files, as far as they differ."""
    settings: tuple[SettingChange, ...]
    """Whether there is a shell or the web, and variables, as far as they differ."""
    tool_count_before: Count
    tool_count_after: Count
    tools: tuple[ToolChange, ...]
    """Those that are new, gone or others, and no more."""
    help: tuple[SizeChange, ...]
    """The help texts of programs, as far as they differ."""
    answers: AnswerChanges
    exposure: tuple[StateChange, ...]
    """The texts of others with which the mode as a whole does something else."""
    exposure_by_tool: tuple[ToolExposureChange, ...]
    read_only: tuple[ReadOnlyProof, ReadOnlyProof]
    lint: LintChange
    not_measured: tuple[str, ...]
    """What nothing can be said of, in words."""
    stopped: tuple[StoppedAnswer, ...] = ()
    """What was answered before and is not any more."""
    why_exposure_unknown: str | None = None
    """Why nothing is known of what the second mode shows and changes, where that is so."""
    not_measurable: tuple[str, ...] = ()
    """The tools of the second mode that asked for what the emulator lacks."""

    @property
    def differs(self) -> bool:
        """Whether anything differs that was measured."""
        return bool(
            self.told.has_changed
            or any(each.has_changed for each in self.instructions)
            or self.skills
            or self.settings
            or self.tools
            or self.help
            or self.answers.changed
            or self.exposure
            or self.exposure_by_tool
            or self.read_only[0].wrote != self.read_only[1].wrote
            or self.lint.new
            or self.lint.gone
            or self.stopped
        )


def compare_tool_sets(surface: Surface, exposure: Exposure) -> ToolSetChanges:
    """Compare two modes that were measured: the first is before, the second after."""
    (before, after), (shown_before, shown_after) = surface.modes, exposure.modes
    pairs = pair_tools(before.servers, after.servers)
    tools = compare_tools(pairs)
    renamed = {each.before: each.after for each in tools if each.kind == "renamed" and each.before and each.after}
    answers = _answers(before, after)
    return ToolSetChanges(
        before=before.name,
        after=after.name,
        versions_before=shown_before.versions,
        versions_after=shown_after.versions,
        tokenizer=surface.tokenizer,
        tokens_are_estimated=surface.tokens_are_estimated,
        told=SizeChange(name="told in all", before=before.told, after=after.told),
        instructions=tuple(_instructions(before, after)),
        skills=tuple(_skills(before, after)),
        settings=tuple(
            compare_settings(*(each.settings or ModeSettings() for each in (before, after))),
        ),
        tool_count_before=before.tools,
        tool_count_after=after.tools,
        tools=tools,
        help=tuple(_help(before, after)),
        answers=answers,
        exposure=tuple(compare_states(exposure.carriers, shown_before, shown_after)),
        exposure_by_tool=tuple(compare_exposed_tools(exposure, renamed)),
        read_only=(ReadOnlyProof.of(before, shown_before), ReadOnlyProof.of(after, shown_after)),
        lint=_lint(before, after, renamed),
        not_measured=tuple(_not_measured(surface, exposure)),
        stopped=(*_stopped_questions(answers), *_stopped_tools(exposure, renamed)),
        why_exposure_unknown=shown_after.why_unknown,
        not_measurable=tuple(each.tool for each in shown_after.not_measurable),
    )


def _instructions(before: ModeSurface, after: ModeSurface) -> Iterator[SizeChange]:
    yield SizeChange(
        name="instructions of the mode",
        before=before.instructions,
        after=after.instructions,
        is_reworded=before.instructions_text != after.instructions_text,
    )
    for old, new in pair_servers(before.servers, after.servers):
        yield SizeChange(
            name=f"instructions of the server {next(each.name for each in (new, old) if each is not None)}",
            before=None if old is None else old.instructions,
            after=None if new is None else new.instructions,
            is_reworded=old is not None and new is not None and old.instructions_text != new.instructions_text,
        )


def _skills(before: ModeSurface, after: ModeSurface) -> Iterator[SizeChange]:
    """Yield the parts of skills that differ: what is told of one, its text, its other files."""
    old, new = ({each.name: each for each in mode.skills} for mode in (before, after))
    for name in dict.fromkeys((*old, *new)):
        was, is_ = old.get(name), new.get(name)
        description, body, files = (
            SizeChange(name=f"skill {name}: {part}", before=size_before, after=size_after)
            for part, size_before, size_after in (
                ("name and description", was and was.told, is_ and is_.told),
                ("text, when it is read", was and was.body, is_ and is_.body),
                ("other files", was and was.other_files, is_ and is_.other_files),
            )
        )
        if was is not None and is_ is not None:
            description = description.model_copy(update={"is_reworded": was.told_text != is_.told_text})
            body = body.model_copy(update={"is_reworded": was.body_text != is_.body_text})
            # The digest is of all files: where it differs and nothing else does, it is these.
            are_others = was.digest != is_.digest and not (description.has_changed or body.has_changed)
            files = files.model_copy(update={"is_reworded": are_others})
        empty = (None, Size())
        yield from (
            each
            for each in (description, body, files)
            if each.is_reworded or (each.has_changed and not (each.before in empty and each.after in empty))
        )


def _help(before: ModeSurface, after: ModeSurface) -> Iterator[SizeChange]:
    """Yield the help texts that differ; of a program that only one of the modes has, all of them together."""
    programs, others = ({each.name: each for each in mode.programs} for mode in (before, after))
    for name in dict.fromkeys((*programs, *others)):
        program, other = programs.get(name), others.get(name)
        if program is None or other is None:
            sizes = (None if each is None else each.size for each in (program, other))
            yield SizeChange(name=f"all help of {name}", before=next(sizes), after=next(sizes))
            continue
        old, new = ({each.command: each for each in of.help} for of in (program, other))
        for command in dict.fromkeys((*old, *new)):
            was, is_ = old.get(command), new.get(command)
            change = SizeChange(
                name=f"{command} --help",
                before=None if was is None else was.size,
                after=None if is_ is None else is_.size,
                is_reworded=was is not None and is_ is not None and was.digest != is_.digest,
            )
            if change.has_changed:
                yield change


def _answers(before: ModeSurface, after: ModeSurface) -> AnswerChanges:
    old, new = ({row.id: row for row in mode.rows} for mode in (before, after))
    return AnswerChanges(
        questions=tuple(_answer(id_, old.get(id_), new.get(id_)) for id_ in dict.fromkeys((*old, *new))),
        before=before.common,
        after=after.common,
    )


def _answer(id_: str, before: AnswerRow | None, after: AnswerRow | None) -> AnswerChange:
    if before is None or after is None:
        # A mode that was not asked anything; that is told once for all questions.
        return AnswerChange(id=id_, before=before, after=after, aspects=())
    are_json = before.fields is not None and after.fields is not None
    old, new = (frozenset(each.fields or ()) if are_json else frozenset[str]() for each in (before, after))
    return AnswerChange(
        id=id_,
        before=before,
        after=after,
        aspects=tuple(_answer_aspects(before, after)),
        new_fields=tuple(sorted(new - old)),
        lost_fields=tuple(sorted(old - new)),
    )


def _answer_aspects(before: AnswerRow, after: AnswerRow) -> Iterator[AnswerAspect]:
    if before.outcome != after.outcome:
        # Nothing else of an answer can be compared with an error.
        yield "outcome"
        if before.size != after.size:
            yield "size"
        return
    is_reworded = before.digest != after.digest and (before.size, before.fields) == (after.size, after.fields)
    # Where a program asks several things at once and drops some, the number is another each time.
    requests = (None, None) if None in (before.requests, after.requests) else (before.requests, after.requests)
    pairs: dict[AnswerAspect, tuple[object, object]] = {
        "size": (before.size, after.size),
        "text": (False, is_reworded),
        "fields": (before.fields, after.fields),
        "calls": (before.calls, after.calls),
        "requests": requests,
        "items": (before.items, after.items),
        "over limit": (before.over_limit, after.over_limit),
        "cut off": (before.cut_off, after.cut_off),
        "hint": (before.no_hint, after.no_hint),
    }
    for aspect, (old, new) in pairs.items():
        if old != new:
            yield aspect


def _stopped_questions(answers: AnswerChanges) -> Iterator[StoppedAnswer]:
    for each in answers.questions:
        before, after = each.before, each.after
        # A question that is to be refused was answered by its error.
        if before is None or after is None or before.outcome not in ("answered", "refused"):
            continue
        if after.outcome in ("failed", "none"):
            is_gone = after.outcome == "none"
            yield StoppedAnswer(kind="question", name=each.id, is_gone=is_gone, reason=after.reason)


def _stopped_tools(exposure: Exposure, renamed: Mapping[str, str]) -> Iterator[StoppedAnswer]:
    """Yield the tools and read commands of which every call fails now, or which are gone."""
    before, after = exposure.modes
    called = {each.tool: each for each in after.tools}
    left_out = {each.tool for each in after.not_called}
    for old in before.tools:
        name = renamed.get(old.tool, old.tool)
        # One that is not called any more, such as one that says now that it destroys, may answer as before.
        if not old.has_answered or name in left_out:
            continue
        new = called.get(name)
        # What the emulator lacks is no fault of the tool that asks for it: it may well answer on GitHub.
        if new is None or not (new.has_answered or new.gaps):
            reason = None if new is None else new.error
            yield StoppedAnswer(kind="tool", name=name, is_gone=new is None, reason=reason)


def _lint(before: ModeSurface, after: ModeSurface, renamed: Mapping[str, str]) -> LintChange:
    def under_new_names(finding: LintFinding) -> LintFinding:
        message = finding.message
        for old, new in renamed.items():
            message = message.replace(repr(old), repr(new))
        return finding.model_copy(update={"tool": renamed.get(finding.tool, finding.tool), "message": message})

    def key(finding: LintFinding) -> tuple[str, str, str]:
        return finding.kind, finding.tool, finding.message

    old = {key(under_new_names(each)): each for each in before.lint or ()}
    new = {key(each): each for each in after.lint or ()}
    return LintChange(
        new=tuple(each for at, each in new.items() if at not in old),
        gone=tuple(each for at, each in old.items() if at not in new),
    )


def _not_measured(surface: Surface, exposure: Exposure) -> Iterator[str]:
    unasked = [each.name for each in surface.modes if each.answers is None]
    if unasked:
        names = " and ".join(unasked)
        yield f"Answers of {names}: the table of questions has no calls for them; --questions FILE adds some."
    else:
        yield from _questions_without_calls(surface.modes)
    for mode in surface.modes:
        if mode.not_called:
            tools = ", ".join(each.tool for each in mode.not_called)
            yield f"Whether {tools} of {mode.name} only read: they asked GitHub for nothing when they were called."
    for mode in exposure.modes:
        for reason, tools in mode.not_called_by_reason.items():
            yield f"What {', '.join(tools)} of {mode.name} would show: not called, since {reason}."
        for each in mode.not_measurable:
            yield f"{each.tool} of {mode.name}, not in full: the embedded GitHub has no {', '.join(each.gaps)}."
    if surface.tokens_are_estimated:
        yield f"Tokens: they are estimated ({surface.tokenizer}); the extra `tokens` counts them."


def _questions_without_calls(modes: Sequence[ModeSurface]) -> Iterator[str]:
    without_calls = [{row.id for row in mode.rows if row.outcome == "none"} for mode in modes]
    if both := set[str].intersection(*without_calls):
        yield f"{len(both)} of {plural(len(modes[0].rows), 'question')} of the table: neither mode has a call for them."
