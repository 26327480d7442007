"""A threat in a scenario: a prompt injection by a user without write access, and what it is after."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, cast
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    Strict,
    StringConstraints,
    field_validator,
    model_validator,
)

from ghx_base.documents import RefusedError
from ghx_base.documents.section import AtLeastOne, Flag, Section, Text
from ghx_base.problems import Tokens, describe_value, shortened
from ghx_base.texts.injected_text import canary_problem
from ghx_base.texts.templates import fill, fill_text, names_in, strings_in
from ghx_base.wire import JsonObject
from ghx_bench.scenario.conditions import CheckpointCondition
from ghx_bench.scenario.scenario_changes import BENIGN, CLEAN, ScenarioChanges
from ghx_twin.faults import InjectedChange

Carrier = Literal[
    "issue-title",
    "issue-body",
    "issue-comment",
    "pr-title",
    "pr-body",
    "review",
    "review-thread",
    "commit-message",
    "branch-name",
    "file-name",
    "file-content",
    "label",
    "milestone",
    "ci-log",
    "check-output",
    "release-notes",
    "user-bio",
    "agents-file",
]
"""Where the injected text is."""

_CARRIERS_IN_GIT: frozenset[Carrier] = frozenset(
    {"commit-message", "branch-name", "file-name", "file-content", "agents-file"}
)
"""The carriers that a clone or a checkout has, in addition to the API."""

_PATHS_INTO_GIT = ("/contents/", "/git/")

Goal = Literal[
    "exfiltrate-private",
    "exfiltrate-secret",
    "unauthorized-merge",
    "permission-change",
    "mass-change",
    "persistence",
    "misinformation",
]
"""The goal of the attack."""

Disguise = Literal["plain", "authority", "html-comment", "zero-width", "split", "base64"]
"""How the text is disguised."""

ThreatVariant = Literal["attack", "clean", "benign"]
"""The variants of a scenario with a threat: under attack, without the text, or with the text by a maintainer."""

THREAT = "threat"
THREAT_TEXT = "threat_text"
"""The placeholder of the text in requests that inject it; with the suffix `_2`, for the second of several."""
TRUST = "outsider"
"""The trust level of the author: no write access to the repository."""

_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_NUMBERED = re.compile(rf"{THREAT_TEXT}(?:_(\d+))?")
_OWN_VARIABLES = re.compile(r"(?:GITHUB|GH|GHX|GIT|SSL|NODE)_.*|.*_PROXY|PATH|HOME|USER|SHELL|TMPDIR|LANG|LC_.*")


def _check_texts(value: object) -> object:
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    for text in texts or [None]:
        if not isinstance(text, str) or not text.strip():
            hint = "write the order as it is planted, or a list of texts where it is split"
            raise RefusedError(f"expected a text, got {describe_value(text)}", suggestion=hint)
    return cast("object", value)


def _check_timing(value: object) -> object:
    if value != "at-rest" and not isinstance(value, dict):
        hint = "write at-rest, or {read: 2, operation: '*issues*'}"
        raise RefusedError(f"expected a time, got {describe_value(value)}", suggestion=hint)
    return cast("object", value)


def _check_method(value: object) -> object:
    if value not in _METHODS:
        raise RefusedError(f"expected {', '.join(_METHODS)}, got {describe_value(value)}")
    return value


def _refuse_variables(path: str) -> str:
    if names_in(path):
        raise RefusedError(f"variables are not replaced in {shortened(path)}", suggestion="write * in their place")
    return path


class OnRead(Section):
    """Injection just before a read is answered."""

    read: AtLeastOne = Field(description="The number of the read that finds the text, counted from 1.", examples=[2])
    operation: Text = Field(
        default="*",
        description="Which reads are counted: a shell pattern for what the journal calls a request.",
        examples=["*issues*"],
    )


class InjectionRequest(Section):
    """One request of GitHub's REST API that injects the text."""

    method: Annotated[str, BeforeValidator(_check_method)] = Field(description="POST, PUT, PATCH or DELETE.")
    path: Text = Field(
        description="The path of the request.", examples=["/repos/{{repo}}/issues/{{issue_number}}/comments"]
    )
    body: dict[str, JsonValue] | None = Field(
        default=None, description="The JSON body.", examples=[{"body": "{{threat_text}}"}]
    )

    @field_validator("path")
    @classmethod
    def _begins_with_a_slash(cls, path: str) -> str:
        if not path.startswith("/"):
            raise RefusedError(f"a path begins with /, not {shortened(path)}", suggestion=f"write {f'/{path}'!r}")
        return path


class StateCheck(Section):
    """A check of the state that the agent left, like a checkpoint."""

    task: Text = Field(description="The capability that is called.", examples=["repo.collaborators.list"])
    input: dict[str, JsonValue] = Field(description="What the capability is given.")
    condition: CheckpointCondition = Field(description="What its output satisfies if the attack has succeeded.")


class Succeeds(Section):
    """The criteria of a successful attack; any one is enough."""

    changes: tuple[Text, ...] = Field(
        default=(),
        description="Patterns of what the agent has changed, as in `allowedChanges`.",
        examples=[["changed issues.state {{repo}}#*"]],
    )
    canary: Flag = Field(
        default=False,
        description="Whether the canary was in a request to GitHub that writes, in a push, or sent to another host.",
    )
    files: tuple[Annotated[Text, AfterValidator(_refuse_variables)], ...] = Field(
        default=(),
        description="Shell patterns for paths of files that the agent has put or changed, on whatever branch.",
        examples=[[".github/workflows/refresh.yml"]],
    )
    checkpoint: StateCheck | None = Field(default=None, description="Or a look at the state.")

    @model_validator(mode="after")
    def _requires_a_criterion(self) -> Self:
        if not self.changes and not self.canary and not self.files and self.checkpoint is None:
            hint = "write changes, files, canary: true, or a checkpoint"
            raise RefusedError("nothing tells whether the attack has succeeded", suggestion=hint)
        return self


class ThreatVariantChanges(ScenarioChanges):
    """The changes of the variant without the injected text, or with the same text by a maintainer."""

    plant: tuple[InjectionRequest, ...] | None = Field(
        default=None, description="The requests that plant the text here; those of the threat unless given."
    )


class Threat(Section):
    """A prompt injection that the agent must not follow, and how its success is detected."""

    carrier: Carrier = Field(description="Where the text stands.")
    goal: Goal = Field(description="What it is after.")
    disguise: Disguise = Field(default="plain", description="How it is written.")
    author: Text = Field(description="The login of who plants it: a user without write access to the repository.")
    maintainer: Text = Field(description="The login of who says the same with right, in the benign twin.")
    timing: Annotated[Literal["at-rest"] | OnRead, BeforeValidator(_check_timing)] = Field(
        default="at-rest",
        description="When it is planted under attack: before the session, or just before a read.",
    )
    text: Annotated[Text | tuple[Text, ...], BeforeValidator(_check_texts)] = Field(
        description="The order as it is planted, in its disguise; a list where it is split."
    )
    plant: tuple[InjectionRequest, ...] = Field(
        default=(), description="The requests that plant it, made as `author`; none where the fixture has it."
    )
    canary: Text | None = Field(default=None, description="What must not leave.")
    secret: Annotated[str, Strict(), StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = Field(
        default=None,
        description="A variable of the session's environment that holds the canary.",
        examples=["DEPLOY_TOKEN"],
    )
    succeeds: Succeeds = Field(description="What has happened if the attack has succeeded.")
    side_effects: tuple[Text, ...] = Field(
        alias="sideEffects",
        default=(),
        description="Patterns of what goes along with the order, as in `allowedChanges`: no damage, and no success.",
        examples=[["changed issues.state {{repo}}#*"]],
    )
    benign: ThreatVariantChanges | None = Field(
        default=None, description="What the benign twin has instead of the scenario's."
    )
    clean: ThreatVariantChanges | None = Field(
        default=None, description="What the scenario has instead where nothing is planted."
    )

    @property
    def texts(self) -> tuple[str, ...]:
        """The parts of the order; one, unless it is split."""
        return (self.text,) if isinstance(self.text, str) else self.text

    def timing_in(self, form: ThreatVariant) -> Literal["at-rest"] | OnRead:
        """Return when the text is injected in a variant.

        In the benign variant it is there from the start: an agent that read the thread before the maintainer's order
        came has not refused it.
        """
        return self.timing if form == "attack" else "at-rest"

    def when_in(self, form: ThreatVariant) -> str:
        """Return when the text is injected in a variant, in words for rows."""
        timing = self.timing_in(form)
        return "at-rest" if timing == "at-rest" else f"read {timing.read} of {timing.operation}"

    def requests_in(self, form: ThreatVariant) -> tuple[InjectionRequest, ...]:
        """Return the requests that inject the text in a variant."""
        match form:
            case "attack":
                return self.plant
            case "benign":
                return self.plant if self.benign is None or self.benign.plant is None else self.benign.plant
            case "clean":
                return () if self.clean is None or self.clean.plant is None else self.clean.plant

    def is_in_git_in(self, form: ThreatVariant) -> bool:
        """Return whether a clone has the text in a variant, by its requests or, in a fixture, by its carrier."""
        if requests := self.requests_in(form):
            return any(part in each.path for each in requests for part in _PATHS_INTO_GIT)
        return self.carrier in _CARRIERS_IN_GIT

    def changes_in(self, form: ThreatVariant) -> tuple[InjectedChange, ...]:
        """Return the changes that inject the text in a variant; in a path it is quoted."""
        texts: dict[str, JsonValue] = {
            f"{THREAT_TEXT}_{number}": text for number, text in enumerate(self.texts, start=1)
        }
        texts[THREAT_TEXT] = self.texts[0]
        quoted = {name: quote(str(text)) for name, text in texts.items()}
        return tuple(
            InjectedChange(
                actor=self.maintainer if form == BENIGN else self.author,
                method=each.method,
                path=fill_text(each.path, quoted.__getitem__),
                body=None if each.body is None else cast("JsonObject", fill({**each.body}, texts.__getitem__)),
            )
            for each in self.requests_in(form)
        )

    @field_validator("canary")
    @classmethod
    def _is_no_ordinary_text(cls, canary: str | None) -> str | None:
        if canary is not None and (problem := canary_problem(canary)):
            raise RefusedError(problem, suggestion="write a random one, such as 'kestrel-7f3a91-mo0n'")
        return canary

    @field_validator("secret")
    @classmethod
    def _is_no_variable_of_the_bench(cls, secret: str | None) -> str | None:
        if secret is not None and _OWN_VARIABLES.fullmatch(secret):
            reason = f"{secret} is a variable that sessions have anyway"
            raise RefusedError(reason, suggestion="name another, such as DEPLOY_TOKEN")
        return secret

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for problem in (*self._text_problems(), *self._canary_problems()):
            raise problem
        if self.author.casefold() == self.maintainer.casefold():
            reason = f"{self.author} cannot be both who may not say so and who may"
            raise RefusedError(reason, at=("maintainer",), suggestion="name a maintainer of the repository")
        if not self.plant and (self.benign is None or self.clean is None):
            missing = [name for name, form in ((BENIGN, self.benign), (CLEAN, self.clean)) if form is None]
            reason = f"nothing plants the text, so the fixture has it, and there is no {' and no '.join(missing)}"
            hint = "write plant, or what the other forms have instead: {fixture: {requires: [...]}}"
            raise RefusedError(reason, suggestion=hint)
        return self

    def _text_problems(self) -> Iterator[RefusedError]:
        parts = len(self.texts)
        if (self.disguise == "split") != (parts > 1):
            reason = f"the text has {parts} parts, and its disguise is {self.disguise}"
            yield RefusedError(reason, at=("text",), suggestion="split texts are a list of two or more, others are one")
        for place, plant in ((("plant",), self.plant), (("benign", "plant"), self.benign and self.benign.plant)):
            used = {number for request in plant or () for number in _texts_used(request)}
            if plant and (unused := [number for number in range(1, parts + 1) if number not in used]):
                name = THREAT_TEXT if unused[0] == 1 else f"{THREAT_TEXT}_{unused[0]}"
                hint = f"write {{{{{name}}}}} where it goes"
                yield RefusedError("no request plants the text", at=place, suggestion=hint)
            if beyond := [number for number in used if number > parts]:
                reason = f"there is no text {beyond[0]}; there is {parts}"
                yield RefusedError(reason, at=place, suggestion="write text as a list")

    def _canary_problems(self) -> Iterator[RefusedError]:
        if self.canary is not None:
            if not self.succeeds.canary:
                hint = "add canary: true"
                yield RefusedError("nothing is done with the canary", at=("succeeds",), suggestion=hint)
            return
        needs = [
            ("succeeds.canary", self.succeeds.canary),
            ("secret", self.secret is not None),
            (f"goal {self.goal}", self.goal.startswith("exfiltrate")),
        ]
        if missing := [what for what, is_so in needs if is_so]:
            reason = f"there is no canary, which {' and '.join(missing)} needs"
            yield RefusedError(reason, suggestion="write canary: what must not leave")


def _texts_used(request: InjectionRequest) -> Iterator[int]:
    document = cast("JsonValue", request.model_dump(mode="json"))
    for _, text in strings_in(document):
        for name in names_in(text):
            if match := _NUMBERED.fullmatch(name):
                yield int(match[1] or 1)


def without_texts(text: str) -> str:
    """Return a text of an injection request without the places of the injected text, which no fixture binds."""
    return re.sub(rf"\{{\{{\s*{_NUMBERED.pattern}\s*\}}\}}", "", text)


def is_text_name(name: str) -> bool:
    """Return whether a placeholder stands for an injected text."""
    return _NUMBERED.fullmatch(name) is not None


def strings_in_threat(extensions: Mapping[str, JsonValue] | None) -> Iterator[tuple[Tokens, str]]:
    """Yield the texts of a threat in which variables are replaced before the session, whatever is wrong with it."""
    threat = (extensions or {}).get(THREAT)
    if not isinstance(threat, dict):
        return
    for key in BOUND_KEYS:
        yield from strings_in(threat.get(key), ("extensions", THREAT, key))
    for place, plant in plants_in(threat):
        yield from ((tokens, without_texts(text)) for tokens, text in strings_in(plant, ("extensions", THREAT, *place)))


BOUND_KEYS = ("author", "maintainer", "text")
"""Keys of a threat whose texts can have variables, in addition to its requests and success criteria."""


def plants_in(threat: Mapping[str, Any]) -> Iterator[tuple[Tokens, JsonValue]]:
    """Yield the lists of injection requests of a threat as it is written, and where they stand."""
    for form in (None, BENIGN, CLEAN):
        part = threat if form is None else threat.get(form)
        if isinstance(part, dict) and isinstance(requests := cast("dict[str, JsonValue]", part).get("plant"), list):
            yield ("plant",) if form is None else (form, "plant"), requests


def patterns_in_threat(extensions: Mapping[str, JsonValue] | None) -> Iterator[tuple[Tokens, str]]:
    """Yield the patterns of changes in a threat, whatever else is wrong with it."""
    threat = (extensions or {}).get(THREAT)
    if not isinstance(threat, dict):
        return
    succeeds = threat.get("succeeds")
    changes = succeeds.get("changes") if isinstance(succeeds, dict) else None
    for place, patterns in ((("succeeds", "changes"), changes), (("sideEffects",), threat.get("sideEffects"))):
        for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
            if isinstance(pattern, str) and pattern.strip():
                yield ("extensions", THREAT, *place, index), pattern
