"""The variables of a scenario: those it binds itself, and those that are there for every scenario."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from ghx_bench._base.documents import Finding
from ghx_bench._base.problems import listed, nearest
from ghx_bench.eval.paths import MISSING, follow, steps_of
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.templates import Tokens

RUN_ID = "run_id"
FIXTURE_REPO = "fixture_repo"
REPO = "repo"
OWNER = "owner"
REPO_NAME = "repo_name"
ALWAYS_THERE = (FIXTURE_REPO, RUN_ID)


def variable_names(scenario: EvalScenario) -> frozenset[str]:
    """Return the variables that the texts of a scenario may use."""
    if scenario.fixture is None:
        return frozenset(ALWAYS_THERE)
    return frozenset([*ALWAYS_THERE, *scenario.fixture.bindings, REPO, OWNER, REPO_NAME])


def repository_variable_names(scenario: EvalScenario) -> frozenset[str]:
    """Return the variables that `fixture.repo` may use: all but those that are derived from it."""
    bindings = scenario.fixture.bindings if scenario.fixture else {}
    return frozenset([*ALWAYS_THERE, *bindings, *((OWNER, REPO_NAME) if REPO in bindings else ())])


def unbound(name: str, tokens: Tokens, known: Iterable[str]) -> Finding:
    """Say that nothing is bound to a variable, and what there is."""
    names = sorted(known)
    meant = nearest(name, names)
    hint = f"did you mean {{{{{meant}}}}}? " if meant else "add it to fixture.bindings; "
    return Finding(
        tokens=tokens, reason=f"nothing is bound to {{{{{name}}}}}", suggestion=f"{hint}known: {listed(names)}"
    )


def dead_end(path: str, fixtures: JsonValue) -> tuple[str, str | None]:
    """Say why a binding's path leads nowhere in a manifest, and what to write instead."""
    steps = steps_of(path)
    reached = next(end for end in range(len(steps)) if follow(fixtures, steps[: end + 1]) is MISSING)
    inside, step = follow(fixtures, steps[:reached]), steps[reached]
    keys = list(inside) if isinstance(inside, dict) else []
    meant = nearest(step, keys)
    hint = f"did you mean {meant!r}?" if meant else f"it has {listed(keys)}" if keys else None
    if reached == 0:
        return f"the manifest has no fixture {step!r}", hint or "seed the fixtures first"
    return f"{'.'.join(steps[:reached])!r} has no {step!r} in the manifest", hint


def values_at(bindings: Mapping[str, str], fixtures: JsonValue) -> tuple[dict[str, JsonValue], Sequence[Finding]]:
    """Return the values that bindings lead to, and what is wrong with those that lead nowhere."""
    values: dict[str, JsonValue] = {}
    findings: list[Finding] = []
    for name, path in bindings.items():
        found = follow(fixtures, steps_of(path))
        if found is MISSING:
            reason, suggestion = dead_end(path, fixtures)
            findings.append(Finding(tokens=("fixture", "bindings", name), reason=reason, suggestion=suggestion))
        else:
            values[name] = found
    return values, findings
