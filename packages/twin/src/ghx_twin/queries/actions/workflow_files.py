"""What the file of a workflow says: which events set it off, what a dispatch may give, its jobs and their steps."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING, Any, cast

from ghx_twin.git.repository import GitRepository

if TYPE_CHECKING:  # loaded with the first workflow
    import yaml

_LARGEST = 512 * 1024  # bytes; GitHub reads no larger workflow
_MOST_JOBS = 256  # that GitHub makes of one matrix; here of a whole file
_MOST_STEPS = 10_000  # of all jobs of a file: each is a record, and a matrix multiplies them
_MOST_NODES = 10_000  # values of a file, those that aliases repeat counted each time
_NODE_LENGTH = 50  # characters; a longer text counts as several values
_EXPRESSION = re.compile(r"\$\{\{\s*(?P<name>[\w.-]+)\s*\}\}")


class WorkflowFileError(Exception):
    """A file is no workflow that GitHub could run; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """An event that sets a workflow off, and its filters; None where the file has no such filter."""

    types: tuple[str, ...] | None = None
    branches: tuple[str, ...] | None = None
    branches_ignore: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    tags_ignore: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    paths_ignore: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDefinition:
    """A value that a dispatch may give, or must."""

    type: str = "string"  # string | boolean | choice | number | environment
    required: bool = False
    default: Any = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDefinition:
    """A step of a job: a command or an action."""

    name: str
    run: str | None = None
    uses: str | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """A job, one for each combination of its matrix."""

    key: str
    name: str  # of its check run
    needs: tuple[str, ...] = ()  # keys of others
    condition: str = ""
    environment: str | None = None
    labels: tuple[str, ...] = ()
    steps: tuple[StepDefinition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFile:
    """A workflow as its file says it."""

    run_name: str | None
    triggers: Mapping[str, Trigger]
    inputs: Mapping[str, InputDefinition]
    jobs: tuple[JobDefinition, ...]


def read_workflow_file(git: GitRepository, sha: str, path: str) -> WorkflowFile | None:
    """Return the workflow that a file says at a commit, None where there is no file; raise `WorkflowFileError`."""
    entry = git.entry(sha, path)
    content = git.blob(entry.sha) if entry is not None and entry.type == "blob" else None
    return None if content is None else parse_workflow_file(content)


def files_on_branches(git: GitRepository, path: str) -> list[WorkflowFile]:
    """Return the workflows that a file says on the branches, without those that GitHub could not run."""
    files: list[WorkflowFile] = []
    for sha in git.refs("refs/heads/").values():
        with suppress(WorkflowFileError):
            file = read_workflow_file(git, sha, path)
            files += [] if file is None or file in files else [file]
    return files


@lru_cache(maxsize=256)
def parse_workflow_file(content: bytes) -> WorkflowFile:
    """Return what the file of a workflow says; raise `WorkflowFileError` where GitHub could not run it."""
    try:
        return _interpret(parse_yaml(content))
    except WorkflowFileError:
        raise
    except Exception as error:  # agents write the file, and a value that nothing can read must not end their push
        raise WorkflowFileError(f"it cannot be read: {error}") from error


def _interpret(read: Any) -> WorkflowFile:
    document = _mapping(read)
    if document is None:
        raise WorkflowFileError("it is no mapping of keys to values")
    events = _events(document.get("on"))
    jobs = _mapping(document.get("jobs"))
    if not events:
        raise WorkflowFileError("No event triggers defined in `on`")
    if not jobs:
        raise WorkflowFileError("Required property is missing: jobs")
    job_list = tuple(
        islice((job for key, each in jobs.items() for job in _jobs(key, _mapping(each) or {})), _MOST_JOBS)
    )
    if sum(len(job.steps) for job in job_list) > _MOST_STEPS:
        raise WorkflowFileError(f"its jobs have more than {_MOST_STEPS} steps")
    _check_needs(job_list)
    dispatch = _mapping(events.get("workflow_dispatch")) or {}
    return WorkflowFile(
        run_name=_text(document.get("run-name")),
        triggers={event: _trigger(_mapping(filters) or {}) for event, filters in events.items()},
        inputs={name: _input(_mapping(each) or {}) for name, each in (_mapping(dispatch.get("inputs")) or {}).items()},
        jobs=job_list,
    )


def parse_yaml(content: bytes) -> Any:
    """Return the value of a YAML text as GitHub reads it; raise `WorkflowFileError` for what is none."""
    if len(content) > _LARGEST:
        raise WorkflowFileError(f"it is larger than {_LARGEST} bytes")
    # Loaded only now: most worlds start without any workflow, and the parser takes a tenth of their start.
    import yaml  # noqa: PLC0415 - as said above

    try:
        return yaml.load(content, Loader=_yaml_1_2_loader())  # noqa: S506 - a safe loader
    except WorkflowFileError:
        raise
    except Exception as error:  # odd tags and values end in errors of any kind, such as `!!int ""` in an IndexError
        raise WorkflowFileError(f"it is no YAML: {error}") from error


@cache
def _yaml_1_2_loader() -> "type[yaml.SafeLoader]":
    """Return a loader for YAML 1.2, as GitHub's: PyYAML's own reads `on` and `yes` as booleans, and days as dates."""
    loader = _counting_loader()
    boolean = "tag:yaml.org,2002:bool"
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in {boolean, "tag:yaml.org,2002:timestamp"}]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    pattern = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
    for first in "tTfF":
        loader.yaml_implicit_resolvers.setdefault(first, []).append((boolean, pattern))
    for kind in ("int", "float"):
        tag = f"tag:yaml.org,2002:{kind}"
        loader.add_constructor(tag, _without_base_60(loader.yaml_constructors[tag]))
    return loader


def _without_base_60(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    # `1:30` is a text in YAML 1.2. PyYAML multiplies it out: two seconds for 200 kB, four times that for twice as much.
    return lambda loader, node: loader.construct_scalar(node) if ":" in node.value else construct(loader, node)


def _counting_loader() -> "type[yaml.SafeLoader]":
    """Return a loader of its own, which refuses a file with too many values."""
    import yaml  # noqa: PLC0415 - as in `parse_yaml`

    class Loader(yaml.SafeLoader):
        """Counts values while it reads them."""

        def __init__(self, stream: bytes) -> None:
            super().__init__(stream)
            self._nodes = 0
            self._sizes: dict[str, int] = {}  # of what has an anchor, once it is complete

        def compose_node(self, parent: "yaml.Node | None", index: int) -> "yaml.Node | None":
            """Compose a value; refuse the file once aliases repeat too much, which a few lines are enough for."""
            event = cast("yaml.NodeEvent", self.peek_event())  # pyright: ignore[reportUnknownMemberType] - untyped
            anchor, before = event.anchor, self._nodes
            if isinstance(event, yaml.AliasEvent):
                if anchor in self.anchors and anchor not in self._sizes:
                    raise WorkflowFileError(f"*{anchor} is inside what it stands for")
                self._nodes += self._sizes.get(anchor, 0)
            else:
                self._nodes += 1 + (len(event.value) // _NODE_LENGTH if isinstance(event, yaml.ScalarEvent) else 0)
            if self._nodes > _MOST_NODES:
                raise WorkflowFileError(f"it has more than {_MOST_NODES} values")
            node = super().compose_node(parent, index)
            if anchor is not None and not isinstance(event, yaml.AliasEvent):
                self._sizes[anchor] = self._nodes - before
            return node

    return Loader


def fill_expressions(text: str, values: Mapping[str, object]) -> str:
    """Replace expressions that are just a name, such as `${{ matrix.os }}`; one without a value is empty."""
    return _EXPRESSION.sub(lambda found: _format_value(values.get(found["name"], "")), text)


def _events(on: Any) -> dict[str, Any]:
    if isinstance(on, str):
        return {on: None}
    if isinstance(on, list):
        return dict.fromkeys(_texts(cast("list[Any]", on)))
    return _mapping(on) or {}


def _trigger(filters: Mapping[str, Any]) -> Trigger:
    def given(name: str) -> tuple[str, ...] | None:
        return _texts(filters[name]) if filters.get(name) is not None else None

    return Trigger(
        types=given("types"),
        branches=given("branches"),
        branches_ignore=given("branches-ignore"),
        tags=given("tags"),
        tags_ignore=given("tags-ignore"),
        paths=given("paths"),
        paths_ignore=given("paths-ignore"),
    )


def _input(definition: Mapping[str, Any]) -> InputDefinition:
    return InputDefinition(
        type=_text(definition.get("type")) or "string",
        required=definition.get("required") is True,
        default=definition.get("default"),
        options=_texts(definition.get("options") or ()),
    )


def _jobs(key: str, definition: Mapping[str, Any]) -> Iterable[JobDefinition]:
    combinations = _combinations(_mapping((_mapping(definition.get("strategy")) or {}).get("matrix")))
    environment = definition.get("environment")
    steps = tuple(map(_step, _mappings(definition.get("steps"))))
    for combination in combinations or [{}]:
        name = _text(definition.get("name")) or None
        if name is None or (combination and not _EXPRESSION.search(name)):
            suffix = f" ({', '.join(map(_format_value, combination.values()))})" if combination else ""
            name = f"{name or key}{suffix}"
        yield JobDefinition(
            key=key,
            name=fill_expressions(name, {f"matrix.{each}": value for each, value in combination.items()}),
            needs=_texts(definition.get("needs") or ()),
            condition=_condition(definition.get("if")),
            environment=_text((_mapping(environment) or {"name": environment}).get("name")),
            labels=_texts(definition.get("runs-on") or ()),
            steps=steps,
        )


def _check_needs(jobs: Sequence[JobDefinition]) -> None:
    """Refuse jobs that need one that is not there, or each other."""
    needs = {job.key: set(job.needs) for job in jobs}
    while needs:
        ready = [key for key, wanted in needs.items() if not wanted & needs.keys()]
        unknown = {each for wanted in needs.values() for each in wanted} - {job.key for job in jobs}
        if unknown or not ready:
            raise WorkflowFileError(f"Job depends on unknown jobs or on itself: {', '.join(sorted(unknown or needs))}")
        for key in ready:
            del needs[key]


def _step(definition: Mapping[str, Any]) -> StepDefinition:
    run, uses = _text(definition.get("run")), _text(definition.get("uses"))
    first = (run or uses or "").strip().split("\n", 1)[0]
    return StepDefinition(
        name=_text(definition.get("name")) or f"Run {first}",
        run=run,
        uses=uses,
        condition=_condition(definition.get("if")),
    )


def _combinations(matrix: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the combinations of a matrix; none where it is computed by an expression."""
    if matrix is None:
        return []
    axes = {name: cast("list[Any]", each) for name, each in matrix.items() if isinstance(each, list)}
    included, excluded = (_mappings(axes.pop(name, ())) for name in ("include", "exclude"))
    crossed = islice(product(*axes.values()), _MOST_JOBS) if axes else ()
    combinations = [dict(zip(axes, values, strict=True)) for values in crossed]
    combinations = [each for each in combinations if not any(item.items() <= each.items() for item in excluded)]
    original = [dict(each) for each in combinations]
    for item in included[:_MOST_JOBS]:
        fitting = [
            each for each, first in zip(combinations, original, strict=False)
            if all(first.get(name, value) == value for name, value in item.items())
        ]  # fmt: skip
        for each in fitting:
            each.update(item)
        if not fitting:
            combinations.append(dict(item))
    return combinations[:_MOST_JOBS]


def _condition(value: Any) -> str:
    """Return the condition of an `if`; the empty text where there is none."""
    text = (_text(value) or "").strip()
    return text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text


def _format_value(value: object) -> str:
    if isinstance(value, dict | list):
        return "Object" if isinstance(value, dict) else "Array"  # as GitHub's expressions show them
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.encode("utf-8", "replace").decode()  # YAML can spell halves of surrogate pairs, which nothing stores


def _text(value: Any) -> str | None:
    return _format_value(value) if isinstance(value, str | int | float) else None


def _texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts, which may be written as one text."""
    values = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return tuple(text for each in values if (text := _text(each)) is not None)


def _mapping(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    return {_format_value(key): each for key, each in cast("dict[Any, Any]", value).items()}


def _mappings(value: Any) -> list[dict[str, Any]]:
    values = cast("list[Any]", value) if isinstance(value, list) else []
    return [mapping for each in values if (mapping := _mapping(each)) is not None]
