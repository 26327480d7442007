"""The variables of a scenario: those it binds itself, and those that are there for every scenario."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from ghx_bench._base.problems import did_you_mean, listed, nearest, plain, shortened
from ghx_bench.documents import Finding
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scenario.paths import MISSING, follow, steps_of
from ghx_bench.eval.scenario.templates import CHECKPOINTS, Tokens

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


_WHERE_FROM = {
    RUN_ID: "the runner gives it",
    FIXTURE_REPO: "it is the configured repository, or that of the manifest",
}


def unbound(name: str, tokens: Tokens, known: Iterable[str], *, has_fixture: bool) -> Finding:
    """Say that nothing is bound to a variable, and what there is."""
    names = sorted(known)
    meant = nearest(name, names)
    if name in _WHERE_FROM:
        hint = f"{_WHERE_FROM[name]}; "
    elif meant:
        hint = f"did you mean {{{{{meant}}}}}? "
    else:
        hint = "add it to fixture.bindings; " if has_fixture else "add a 'fixture' whose bindings have it; "
    reason = f"nothing is bound to {{{{{name}}}}}"
    return Finding(tokens=tokens, reason=reason, suggestion=f"{hint}known: {listed(names) or 'none'}")


def misspelt(written: str, name: str, tokens: Tokens, known: Iterable[str]) -> Finding:
    """Say that something in two braces is no placeholder, and which one was probably meant."""
    names = sorted(known)
    exact = {plain(each): each for each in names}.get(plain(name))
    first, dot, path = name.partition(".")
    meant = nearest(name, names)
    if exact:
        hint = f"write {{{{{exact}}}}} for the variable"
    elif dot and path and nearest(first, [CHECKPOINTS[:-1]]):
        hint = f"did you mean {{{{{CHECKPOINTS}{path}}}}}?"
    elif meant:
        hint = f"did you mean {{{{{meant}}}}}?"
    else:
        hint = f"a variable has letters, digits and underscores only; known: {listed(names)}"
    return Finding(tokens=tokens, reason=f"{_without_quotes(written)} is not replaced", suggestion=hint)


def not_replaced_here(written: str, tokens: Tokens, *, is_key: bool) -> Finding:
    """Say that something in two braces stands where nothing is filled in."""
    where = "a key" if is_key else f"{tokens[-1]!r}"
    return Finding(
        tokens=tokens,
        reason=f"{_without_quotes(written)} is not replaced here, in {where}",
        suggestion="placeholders are replaced in values only",
        at_key=is_key,
    )


def _without_quotes(written: str) -> str:
    return shortened(written)[1:-1]


def dead_end(path: str, fixtures: JsonValue) -> tuple[str, str | None]:
    """Say why a binding's path leads nowhere in a manifest, and what to write instead."""
    steps = steps_of(path)
    reached = next(end for end in range(len(steps)) if follow(fixtures, steps[: end + 1]) is MISSING)
    inside, step = follow(fixtures, steps[:reached]), steps[reached]
    keys = list(inside) if isinstance(inside, dict) else []
    hint = did_you_mean(step, keys, otherwise=f"it has {listed(keys)}") if keys else None
    if reached == 0:
        return f"the manifest has no fixture {shortened(step)}", hint or "seed the fixtures first"
    return f"{shortened('.'.join(steps[:reached]))} has no {shortened(step)} in the manifest", hint


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
