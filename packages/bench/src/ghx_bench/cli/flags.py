"""Flags that several commands share."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, Token

from ghx_base.commandline import DEBUG

Switch = Annotated[bool, Parameter(negative="")]
"""A flag without its opposite."""

AsJson = Annotated[bool, Parameter(name="--json", negative="")]
"""The flag of what prints for programs; called so since `json` is the module."""


Debug = Annotated[bool, Parameter(negative="")]
"""The flag of commands that run code of others."""


def show_tracebacks(enabled: bool) -> None:
    """Have the tracebacks of errors shown, as the variable does."""
    if enabled:
        os.environ[DEBUG] = "1"


def _whole(_type: object, tokens: Sequence[Token]) -> int:
    """Read a whole number; refuse 1.5."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"expected a whole number, got {tokens[0].value!r}") from None


def _at_least_one(_type: object, tokens: Sequence[Token]) -> int:
    if (number := _whole(_type, tokens)) < 1:
        raise ValueError(f"must be at least 1, got {number}")
    return number


def _number(_type: object, tokens: Sequence[Token]) -> float:
    try:
        return float(tokens[0].value)
    except ValueError:
        raise ValueError(f"expected a number, got {tokens[0].value!r}") from None


def _run_path(_type: object, tokens: Sequence[Token]) -> Path:
    """Read the name of a run: its folder, its id, `latest`, or what it was blessed as."""
    # Loaded here: only commands that name a run need it.
    from ghx_bench.cli.stored.run_names import find_run

    return find_run(tokens[0].value)


def _shard(_type: object, tokens: Sequence[Token]) -> str:
    """Read a shard; what the environment tells is taken only where `auto` asks for it."""
    # Loaded here: it hashes, and only runs need it.
    from ghx_profiler.plan.shards import find_shard

    return str(find_shard(tokens[0].value, os.environ))


RunPath = Annotated[Path, Parameter(converter=_run_path)]
"""A run: its folder, its id in the folder of results, `latest`, or what it was blessed as."""

OptionalRunPath = Annotated[Path | None, Parameter(converter=_run_path)]

WholeNumber = Annotated[int, Parameter(converter=_whole)]
PositiveNumber = Annotated[int, Parameter(converter=_at_least_one)]
"""A whole number from 1 on."""
Number = Annotated[float, Parameter(converter=_number)]


# The classes below are parameters of commands; `name="*"` makes each field a flag of its own name. Their annotations
# must not be strings (no `from __future__ import annotations` here): cyclopts looks names up in `sys.modules`, where
# a module that was loaded for one command need not be any more.

KeepWorldsFlag = Literal["failed", "all"] | None
"""Which worlds are kept."""

LogFile = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
"""A file for events; `-` is standard error."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """What `run`, `profile` and `resume` let the command line limit and place, named as `ProfileConfig` says."""

    max_concurrency: WholeNumber | None = None
    """How many cells run at once, on all machines together."""
    executor: Literal["local", "ray"] | None = None
    """Where cells run: in this process (local), or on the nodes of a Ray cluster; ray where an address is given."""
    ray_address: str | None = None
    """The Ray cluster: `auto`, or host and port; unless given, Ray is started on this machine alone."""
    max_usd: Number | None = None
    """US dollars that the whole run may spend on models, resumed or not; then no further cell is started."""
    max_tokens: WholeNumber | None = None
    """Tokens that the whole run may spend."""
    max_model_calls: WholeNumber | None = None
    """Model calls that the whole run may make."""
    max_turns: WholeNumber | None = None
    """Turns that the agents of the whole run may take."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChangeFlags:
    """What the report on two modes is made with; each is for `compare --mode` alone."""

    html: Path | None = None
    """With --mode, write the report as a page."""
    questions: list[Path] | None = None
    """With --mode, a file with calls of your own modes for the table of questions, or with questions of your own."""
    commands: list[Path] | None = None
    """With --mode, a file with read commands of your own programs, for what they show of others' text."""
    limit_tokens: PositiveNumber = 25_000
    """With --mode, from how many tokens on an answer counts as too long for an agent."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)  # without slots, which a class below could have from one base alone
class AnalysisFlags:
    """What the command line says about comparisons; each is named as `AnalysisPlan` says."""

    reference_mode: str | None = None
    """The mode that all others are held against; the first unless given."""
    all_pairs: Switch = False
    """Compare every two arms that differ in one thing alone, instead of each with the reference."""
    pool: list[Literal["agents", "models"]] | None = None
    """What is not told apart in tables and verdicts; repeat for both."""

    def changes(self) -> dict[str, object]:
        """Return what was given, as fields of the plan."""
        settings = {"reference_mode": self.reference_mode, "all_pairs": self.all_pairs, "pool": tuple(self.pool or ())}
        return {name: value for name, value in settings.items() if value}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringFlags(LimitFlags, AnalysisFlags):
    """What `run` and `profile` let the command line say beyond limits; each is named as `ProfileConfig` says."""

    mode: list[str] | None = None
    """A mode to run; repeat for several."""
    model: list[str] | None = None
    """A model id to run with; repeat for several."""
    scenario_set: str | None = None
    """A named set of scenarios."""
    scenario: list[str] | None = None
    """A scenario id to run; repeat for several."""
    tag: list[str] | None = None
    """Run only scenarios with this tag; repeat for several."""
    repetitions: WholeNumber | None = None
    """How often each scenario is run in each mode."""
    retries: WholeNumber | None = None
    """Further attempts after a transient failure, instead of each scenario's own `allowedRetries`."""
    skip_warmup: Switch = False
    """Run no canary before measuring."""
    order: Literal["interleaved", "sequential"] | None = None
    """`interleaved` mixes the modes, so that a drifting model service hits all alike."""
    seed: WholeNumber | None = None
    """Seed of the order."""
    shard: Annotated[str | None, Parameter(converter=_shard)] = None
    """Run one part of so many, as in 3/8, for `ghx-bench merge`; `auto` takes it from a job of Slurm or GitLab, auto/8
    from an indexed one of Kubernetes."""
    open_timeout: Number | None = None
    """Seconds that opening a session may take."""
    output_dir: str | None = None
    """Where run directories are made."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFlags:
    """What `run` lets the command line say beyond `MeasuringFlags`; each is named as `EvalConfig` says."""

    agent: list[str] | None = None
    """An agent: one that `ghx-bench list agents` names, or a class of your own, as in ./my_agent.py:MyAgent; repeat for
    several."""
    replay: str | None = None
    """The directory of a run whose sessions are made again by the agent `replay`; --agent then chooses agents of that
    run."""
    record_model: Switch = False
    """Write down what each session sent to its model and received, without secrets, in the directory of the run."""
    replay_model: str | None = None
    """The directory of a run with recorded model traffic: its agents do their work again with the recorded answers,
    without a key and without a cost."""
    scenario_dir: list[Path] | None = None
    """A folder with scenarios of your own; repeat for several."""
    keep_worlds: KeepWorldsFlag = None
    """Keep the worlds that sessions leave on the embedded GitHub, for `ghx-bench shell` and `rescore`: those of cells
    that were not solved (failed), or all."""
    target: Literal["twin", "github"] | None = None
    """Where agents work: on the embedded GitHub (twin), or on github.com."""
    sandbox: Literal["plain", "bwrap"] | None = None
    """`bwrap` starts everything of a session in namespaces of its own, on Linux with bubblewrap."""
    repo: str | None = None
    """The repository that holds the fixtures, as owner/name. On github.com no other is touched."""
    author_token_env: str | None = None
    """On github.com, the environment variable with the token of a second identity, which authors what is reviewed."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class GateFlags:
    """How `run`, `profile` and `resume` judge a run for a pipeline."""

    fail_on: list[str] | None = None
    """End with 1 on a `wrong` or a `right` cell, on an `impure` one, whose agent went past the tools of its mode, on an
    `attacked` one, whose agent did what a planted text says, on an arm's rate, as in 'success<0.8' or, beside
    --against, if the run is `worse`, `not-equivalent` or `inconclusive` on success or on a metric, as in
    'worse:wall time', or its baseline `unreliable`; repeat for several."""
    against: str | None = None
    """The baseline to compare with: a blessed one by its name, the directory or the id of a run, or `latest`."""
    junit: Path | None = None
    """Write a JUnit XML file, with a test case for each scenario in each arm, and one for each gate."""
    markdown: Path | None = None
    """Write a summary for a pull request."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EffortFlags:
    """What the cells of a plan take, as far as no pilot tells it."""

    arms: WholeNumber | None = None
    """How many arms (a mode, with an agent and a model) will be run: those of the pilot unless given, or else 2."""
    max_concurrency: WholeNumber | None = None
    """How many cells will run at once: as in the pilot unless given, or else 1."""
    cell_seconds: Number | None = None
    """How long a cell takes, where no pilot tells it."""
    cell_usd: Number | None = None
    """What a cell costs in US dollars, where no pilot tells it."""
    model: str | None = None
    """A model by whose price the cost is guessed, where nothing else tells it; the guess is stated."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Which scenarios are listed."""

    tag: list[str] | None = None
    """Only scenarios with this tag; repeat for several."""
    category: list[Literal["pr", "issue", "workflow", "release", "repo"]] | None = None
    """Only scenarios about this part of GitHub; repeat for several."""
    difficulty: list[Literal["basic", "intermediate", "advanced"]] | None = None
    """Only scenarios this hard; repeat for several."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What is listed of which project, and how."""

    config: Path | None = None
    """The project's configuration; `eval.config.yaml` in the current folder unless given."""
    json: Switch = False
    """Print the list as JSON."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFlags:
    """What `check --solve` proves, as far as the command line says."""

    scenario: list[str] | None = None
    """With --solve: a scenario id; repeat for several."""
    category: list[str] | None = None
    """With --solve: only scenarios of this category; repeat for several."""
    set: str | None = None
    """With --solve: a named set of scenarios."""
    mode: list[str] | None = None
    """With --solve: a mode in which solutions must pass; repeat for several. Those configured unless given."""
    jobs: WholeNumber = 3
    """With --solve: how many sessions run at once."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureFlags:
    """Where the fixtures are, as far as the command line says."""

    config: Path | None = None
    """The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it."""
    repo: str | None = None
    """The repository that holds the fixtures, as owner/name. No other is touched."""
    manifest: Path | None = None
    """The file that says where each fixture is."""
    author_token_env: str | None = None
    """The environment variable with the token of a second identity, which authors what is reviewed."""
    json: Switch = False
    """Print what came of it as JSON."""
