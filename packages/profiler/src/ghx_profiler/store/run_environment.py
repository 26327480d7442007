"""The conditions of runs, by the names that people call them, and what differs between runs, in words."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from pydantic import JsonValue

from ghx_profiler.store.provenance import changed_ingredients, digest
from ghx_profiler.store.record import RunRecord

_DIGEST = re.compile(r"[0-9a-f]{16}")
SETTINGS_OF_RUNS = ("execution", "budget", "limits", "model_service")
"""Sections of the configuration that can affect results and are nowhere else in the record."""
_PLAIN_NAMES = {
    "execution.max_concurrency": "concurrency",
    "execution.open_timeout_s": "seconds to open a session",
    "execution.seed": "seed of the order",
    "fixtures.repo": "repository of the fixtures",
    "ghxBench": "ghx-bench",
    "python": "Python",
    "hasUncommittedChanges": "uncommitted changes",
}
_PROVENANCE = "provenance"
_REST = "the rest"
_LONGEST_VALUE = 60
_LONGEST_COMMIT = 10
_MOST_LABELS = 8


class Kind(IntEnum):
    """The subject of a fact; changes are listed in this order."""

    AGENT = 0
    OPTION = 1
    MODEL = 2
    CODE = 3
    TOOL = 4
    SERVER = 5
    SKILL = 6
    MODE = 7
    SCENARIO = 8
    FIXTURE = 9
    SETTING = 10
    VERSION = 11
    ENVIRONMENT = 12
    """The machine and the commit: they are listed separately, since their effects have facts of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFact:
    """One thing that may make a difference to rows."""

    kind: Kind
    name: str
    value: JsonValue
    owner: str | None = None
    """The owner that a run must have so that a missing fact is absent rather than unknown
    it: an option that was not set is absent from a run with the same agent. Without one, it is compared only between
    runs that have it."""
    mode: str | None = None
    """The mode that it belongs to; a tool may be that of several."""
    is_digest: bool = False
    """Whether the value, or each part of it, is a digest that can only be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """Everything that is known of how a run came about."""

    facts: Mapping[str, EnvironmentFact]
    """By a key that is the same in every run."""
    owners: frozenset[str] = frozenset()
    modes: tuple[str, ...] = ()
    ingredients: Mapping[str, str] = field(default_factory=dict[str, str])
    has_provenance: bool = False
    """Whether the run wrote down what it was made with; imported runs and those of older versions did not."""
    changed_on_the_way: tuple[str, ...] = ()
    """The facts that changed when the run was resumed: its rows have both."""

    @classmethod
    def of(cls, record: RunRecord | None, *, also: Iterable[EnvironmentFact] = ()) -> "RunEnvironment":
        """Return the facts of a record, if any, and facts that are known without it."""
        known = (*also, *(() if record is None else _recorded(record)))
        conditions = {f"{each.kind.name} {each.name}": each for each in known}
        if record is None or not record.provenance:
            return cls(facts=conditions, modes=() if record is None else record.matrix.modes)
        # A run that was resumed with changes has several; the latest is what it was finished with.
        latest, matrix = record.provenance[-1], record.matrix
        for key, value in latest.ingredients.items():
            if (condition := _of_ingredient(key, value, record)) is not None:
                conditions[key] = condition
        conditions |= {f"circumstance {each.name}": each for each in _environment_facts(latest.circumstances, record)}
        owner_names = ("agent", matrix.agents), ("mode", matrix.modes)
        owners = {f"{noun} {each}" for noun, names in owner_names for each in names}
        return cls(
            facts=conditions,
            owners=frozenset({_PROVENANCE, _owner_of_scenarios(record), *owners}),
            modes=matrix.modes,
            ingredients=latest.ingredients,
            has_provenance=True,
            changed_on_the_way=tuple(dict.fromkeys(_changed_on_the_way(record))),
        )


def _changed_on_the_way(record: RunRecord) -> Iterator[str]:
    """Yield what was another before a run was resumed, and changes were accepted."""
    *earlier, latest = record.provenance
    for each in earlier:
        ingredients = {**each.ingredients, **latest.ingredients}
        for key in changed_ingredients(each.ingredients, latest.ingredients):
            if (condition := _of_ingredient(key, ingredients[key], record)) is not None:
                yield condition.name


def _recorded(record: RunRecord) -> Iterator[EnvironmentFact]:
    """Yield what runs of every version wrote down."""
    several = len(record.matrix.agents) > 1
    for agent in record.agents:
        if agent.version is not None:
            whose = f"agent {agent.name}" if several else "agent"
            yield EnvironmentFact(kind=Kind.AGENT, name=f"version of the {whose}", value=agent.version)
    for mode, fingerprint in record.modes.items():
        details = record.mode_details.get(mode)
        parts: dict[str, JsonValue] = {"instructions": digest(details.instructions)} if details else {}
        value = {**parts, _REST: fingerprint}
        yield EnvironmentFact(kind=Kind.MODE, name=f"mode {mode}", value=value, is_digest=True)
    for scenario in record.scenarios:
        texts: dict[str, JsonValue] = {key: digest(value) for key, value in scenario.items()}
        yield EnvironmentFact(kind=Kind.SCENARIO, name=f"scenario {scenario.get('id')}", value=texts, is_digest=True)
    yield EnvironmentFact(kind=Kind.SETTING, name="repetitions", value=record.matrix.repetitions)
    if record.imported is None:
        yield from _settings("execution", {"order": record.matrix.order, "seed": record.matrix.seed})
    for section in SETTINGS_OF_RUNS:
        yield from _settings(section, record.config.get(section))
    yield from _settings("analysis", record.analysis)
    for name, version in record.versions.items():
        yield EnvironmentFact(kind=Kind.VERSION, name=_PLAIN_NAMES.get(name, name), value=version)


def _settings(path: str, value: JsonValue) -> Iterator[EnvironmentFact]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _settings(f"{path}.{key}", each)
    elif path not in SETTINGS_OF_RUNS:
        words = path.removeprefix("execution.").replace(".", " ").replace("_", " ")
        yield EnvironmentFact(kind=Kind.SETTING, name=_PLAIN_NAMES.get(path, words), value=value)


def _of_ingredient(key: str, value: str, record: RunRecord) -> EnvironmentFact | None:
    """Return the fact of an ingredient; `None` if the record has it elsewhere."""
    subject, _, part = key.partition(": ")
    noun, _, name = subject.partition(" ")
    is_digest = _DIGEST.fullmatch(value) is not None
    match noun:
        case "agent":
            return _of_agent(part, value, name if len(record.matrix.agents) > 1 else None, owner=subject)
        case "mode":
            word, _, what = part.partition(" ")
            kind = {"tool": Kind.TOOL, "server": Kind.SERVER, "skill": Kind.SKILL}.get(word, Kind.MODE)
            # For a file that a server's own imports, the name of the server is enough.
            server, *files = what.split(": ")
            label = ": ".join((f"MCP server {server}", *files[-1:])) if kind is Kind.SERVER else part
            return EnvironmentFact(kind=kind, name=label, value=value, owner=subject, mode=name, is_digest=is_digest)
        case "fixture":
            owner = _owner_of_scenarios(record)
            return EnvironmentFact(kind=Kind.FIXTURE, name=key, value=value, owner=owner, is_digest=is_digest)
        case "solution" | "scorers":
            owner = _owner_of_scenarios(record)
            return EnvironmentFact(kind=Kind.SCENARIO, name=key, value=value, owner=owner, is_digest=is_digest)
        case "ghx-bench":
            return None
        case _:
            return EnvironmentFact(kind=Kind.SETTING, name=_PLAIN_NAMES.get(key, key), value=value, owner=_PROVENANCE)


def _of_agent(part: str, value: str, agent: str | None, *, owner: str) -> EnvironmentFact:
    """Return an option of an agent, or a part of its code; the agent is named where there are several."""
    if part.startswith("option "):
        name = f"agent {part}" if agent is None else f"{part} of agent {agent}"
        return EnvironmentFact(kind=Kind.OPTION, name=name, value=value, owner=owner)
    is_digest = _DIGEST.fullmatch(value) is not None
    what = part if part == "recipe" or part.startswith("package ") else f"code {part}"
    name = f"agent's {what}" if agent is None else f"{what} of agent {agent}"
    return EnvironmentFact(kind=Kind.CODE, name=name, value=value, owner=owner, is_digest=is_digest)


def _owner_of_scenarios(record: RunRecord) -> str:
    # Other scenarios have other fixtures: only the scenarios are listed.
    return f"scenarios {' '.join(sorted(record.matrix.scenario_ids))}"


def _environment_facts(environment: Mapping[str, JsonValue], record: RunRecord) -> Iterator[EnvironmentFact]:
    # Of the machines that measured, where they are known: a run may be started on one, and measured on others.
    machines, host = record.machines.values(), environment.get("host")
    systems = {f"{each.system} {each.release} {each.architecture}" for each in machines}
    if not systems and isinstance(host, dict):
        systems = {" ".join(str(host[key]) for key in ("system", "release", "machine") if key in host)}
    processors = {f"{each.processors} x {each.processor or each.architecture}" for each in machines if each.processors}
    for name, values in (("machine", systems), ("processors", processors)):
        if values:
            yield EnvironmentFact(kind=Kind.ENVIRONMENT, name=name, value=" and ".join(sorted(values)))
    for key in ("commit", "hasUncommittedChanges"):
        if (value := environment.get(key)) is not None:
            short = value[:_LONGEST_COMMIT] if isinstance(value, str) else value
            yield EnvironmentFact(kind=Kind.ENVIRONMENT, name=_PLAIN_NAMES.get(key, key), value=short)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact in which runs differ: its value by label, for each run that has it; `None` if it is absent."""

    kind: Kind
    condition: str
    values: Mapping[str, JsonValue]
    is_digest: bool = False
    modes: tuple[str, ...] = ()
    """The modes that it belongs to, where those are not all."""

    def __str__(self) -> str:
        labels: dict[str, list[str]] = {}
        for label, value in self.values.items():
            labels.setdefault(_describe_value(value), []).append(label)
        values = "; ".join(f"{_list(each)}: {words}" for words, each in labels.items())
        return f"{self.condition}{self._where} ({values})"

    @property
    def _where(self) -> str:
        if not self.modes:
            return ""
        return f" in mode {self.modes[0]}" if len(self.modes) == 1 else f" in modes {', '.join(self.modes)}"

    def between(self, before: str, after: str) -> str | None:
        """Return its change from one run to another; `None` if it is equal or unknown in one of them."""
        if before not in self.values or after not in self.values:
            return None
        old, new = self.values[before], self.values[after]
        if old == new:
            return None
        return f"{self.condition}{self._where} {_edit(old, new) if self.is_digest else _change(old, new)}"

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "condition": f"{self.condition}{self._where}",
            "kind": self.kind.name.lower(),
            "values": dict(self.values),
        }


def _list(labels: Sequence[str]) -> str:
    listed, rest = labels[:_MOST_LABELS], len(labels) - _MOST_LABELS
    return f"{', '.join(listed)} and {rest} more" if rest > 0 else ", ".join(listed)


def _edit(old: JsonValue, new: JsonValue) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    if not isinstance(old, dict) or not isinstance(new, dict):
        return "edited"
    parts = [key for key in {**old, **new} if old.get(key) != new.get(key) and key != _REST]
    return f"edited ({', '.join(parts)})" if parts else "edited"


def _change(old: JsonValue, new: JsonValue) -> str:
    if isinstance(old, list) and isinstance(new, list) and (len(old) != 1 or len(new) != 1):
        added = [f"{_describe_value(each)} added" for each in new if each not in old]
        removed = [f"{_describe_value(each)} removed" for each in old if each not in new]
        return ", ".join(added + removed)
    return f"{_describe_value(old)} -> {_describe_value(new)}"


def _describe_value(value: JsonValue) -> str:
    match value:
        case None:
            words = "unset"
        case bool():
            words = "yes" if value else "no"
        case str() | int() | float():
            words = str(value)
        case list():
            words = ", ".join(map(_describe_value, value)) or "none"
        case dict():
            words = json.dumps(value, ensure_ascii=False)
    return words if len(words) <= _LONGEST_VALUE else f"{words[: _LONGEST_VALUE - 1]}…"


def find_differences(runs: Mapping[str, RunEnvironment]) -> tuple[Difference, ...]:
    """Return every fact in which any two runs differ, by label. Unknown facts are not compared."""
    by_difference: dict[tuple[Kind, str, str], list[EnvironmentFact]] = {}
    differences: dict[tuple[Kind, str, str], Difference] = {}
    for key in dict.fromkeys(key for run in runs.values() for key in run.facts):
        example = next(run.facts[key] for run in runs.values() if key in run.facts)
        values = {
            label: run.facts[key].value if key in run.facts else None
            for label, run in runs.items()
            if key in run.facts or example.owner in run.owners
        }
        if len({json.dumps(value, sort_keys=True) for value in values.values()}) < 2 or _has_only_moved(key, runs):  # noqa: PLR2004
            continue
        # What several modes have in common is one change.
        same = example.kind, example.name, json.dumps(values, sort_keys=True)
        by_difference.setdefault(same, []).append(example)
        differences.setdefault(
            same,
            Difference(kind=example.kind, condition=example.name, values=values, is_digest=example.is_digest),
        )
    every_mode = {mode for run in runs.values() for mode in run.modes}
    differing = (
        replace(each, modes=() if modes >= every_mode else tuple(sorted(modes)))
        for same, each in differences.items()
        for modes in [{condition.mode for condition in by_difference[same] if condition.mode is not None}]
    )
    return tuple(sorted(differing, key=lambda each: (each.kind, each.condition)))


def _has_only_moved(key: str, runs: Mapping[str, RunEnvironment]) -> bool:
    """Return whether an ingredient is a file that is the same in every run under another name."""
    ingredients = [run.ingredients for run in runs.values() if run.has_provenance]
    if not any(key in each for each in ingredients):
        return False
    return all(key not in changed_ingredients(ingredients[0], other) for other in ingredients[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs between two runs, in words: `agent option slip 0.0 -> 0.3; nothing else`."""

    before: str
    after: str
    differences: tuple[str, ...]
    environment: tuple[str, ...]
    """The machines, their processors and the commit, where they differ."""
    unknown: tuple[str, ...]
    """The runs that did not write down what they were made with."""
    mixtures: tuple[str, ...] = ()
    """What within a run changed while it was interrupted: the changes above are those of its later rows."""

    def __str__(self) -> str:
        return "; ".join((self._words(), *self.mixtures))

    def _words(self) -> str:
        listed = "; ".join(self.differences)
        if self.unknown:
            has = "has" if len(self.unknown) == 1 else "have"
            gap = f"unknown: {' and '.join(self.unknown)} {has} no record of agent options, code, tools and fixtures"
            return f"{listed}; whether anything else is {gap}" if listed else gap
        return f"{listed}; nothing else" if listed else "nothing"

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "words": str(self),
            "differences": list(self.differences),
            "circumstances": list(self.environment),
            "unknown": list(self.unknown),
            "mixtures": list(self.mixtures),
        }


def find_changes(runs: Mapping[str, RunEnvironment]) -> tuple[Changes, ...]:
    """Return the changes of each later run relative to the first."""
    differences = find_differences(runs)
    first, *later = runs
    return tuple(
        Changes(
            before=first,
            after=label,
            differences=tuple(_describe(differences, first, label, of_environment=False)),
            environment=tuple(_describe(differences, first, label, of_environment=True)),
            unknown=tuple(each for each in (first, label) if not runs[each].has_provenance),
            mixtures=tuple(
                f"{each} itself was resumed with another {', '.join(changed)}"
                for each in (first, label)
                if (changed := runs[each].changed_on_the_way)
            ),
        )
        for label in later
    )


def _describe(differences: Iterable[Difference], before: str, after: str, *, of_environment: bool) -> Iterator[str]:
    for each in differences:
        text = each.between(before, after)
        if text is not None and (each.kind is Kind.ENVIRONMENT) == of_environment:
            yield text
