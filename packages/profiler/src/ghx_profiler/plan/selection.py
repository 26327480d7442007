"""Which scenarios a run is about: a set or ids, narrowed by tags, brought by the consumer's loader."""

from collections import Counter
from collections.abc import Sequence

from ghx_profiler.config import ScenarioChoice
from ghx_profiler.errors import BadMatrixError, ScenarioMismatchError, UnknownNameError
from ghx_profiler.scenario import EVERY_FORM, S, ScenarioLoader, ScenarioSets, scenario_of

DEFAULT_SET = "default"


async def select_scenarios(
    choice: ScenarioChoice, loader: ScenarioLoader[S], sets: ScenarioSets | None = None
) -> tuple[S, ...]:
    """Resolve the choice to ids, call the loader once, check what it brought, and narrow it by tags."""
    if choice.ids and choice.set is not None and sets is not None:
        _require_set(choice.set, sets)  # it is not used, but a misspelled name is probably one of the known ones
    ids = _ids_of(choice, sets or ScenarioSets({}))
    scenarios = tuple(await loader(ids))
    ids = _with_forms(ids, [scenario.id for scenario in scenarios])
    _check_brought(ids, [scenario.id for scenario in scenarios])
    in_order = {scenario.id: scenario for scenario in scenarios}
    return _narrow(tuple(in_order[each] for each in ids), choice.tags)


def _with_forms(ids: Sequence[str], brought: Sequence[str]) -> tuple[str, ...]:
    """Return the requested ids, with the loaded ids in place of `ID@*`; at least `ID` itself."""
    selected: dict[str, None] = {}
    for id_ in ids:
        base = id_.removesuffix(EVERY_FORM)
        forms = [id_] if base == id_ else [base, *(each for each in brought if scenario_of(each) == base)]
        selected |= dict.fromkeys(forms)
    return tuple(selected)


def _ids_of(choice: ScenarioChoice, sets: ScenarioSets) -> tuple[str, ...]:
    if choice.ids:
        return _distinct(choice.ids, "the scenarios asked for")
    name = choice.set or DEFAULT_SET
    ids = _require_set(name, sets)
    if not ids:
        raise BadMatrixError(f"scenario set {name!r} is empty; name scenarios in it, or choose another set")
    return _distinct(ids, f"scenario set {name!r}")


def _require_set(name: str, sets: ScenarioSets) -> Sequence[str]:
    ids = sets.get(name)
    if ids is None:
        raise UnknownNameError("scenario set", name, known=sets.names())
    return ids


def _distinct(ids: Sequence[str], where: str) -> tuple[str, ...]:
    for repeated in _find_repeated(ids):
        raise BadMatrixError(f"scenario {repeated!r} is given twice in {where}; name it once")
    return tuple(ids)


def _find_repeated(ids: Sequence[str]) -> list[str]:
    return [each for each, times in Counter(ids).items() if times > 1]


def _check_brought(requested_ids: Sequence[str], brought: Sequence[str]) -> None:
    distinct, there = set(requested_ids), set(brought)
    missing = [each for each in requested_ids if each not in there]
    foreign = [each for each in brought if each not in distinct]
    complaints = (
        ("did not return", missing),
        ("returned unasked", foreign),
        ("returned twice", _find_repeated(brought)),
    )
    for complaint, ids in complaints:
        if ids:
            raise ScenarioMismatchError(f"the scenario loader {complaint}: {', '.join(ids)}")


def _narrow(scenarios: tuple[S, ...], tags: Sequence[str]) -> tuple[S, ...]:
    if not tags:
        return scenarios
    known = {tag for scenario in scenarios for tag in scenario.tags}
    for tag in tags:
        if tag not in known:
            raise UnknownNameError("tag", tag, known=known)
    return tuple(scenario for scenario in scenarios if set(tags) & set(scenario.tags))
