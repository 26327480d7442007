"""The variants of a scenario, the base variant included."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from ghx_base.documents import Complaint
from ghx_base.problems import Tokens
from ghx_base.wire import JsonObject
from ghx_bench.scenario.eval_scenario import EvalScenario, FixtureRequirements
from ghx_bench.scenario.extensions import VARIANTS
from ghx_bench.scenario.placeholders import THREAT_PLACE
from ghx_bench.scenario.scenario_changes import BENIGN, CLEAN, FixtureChanges, ScenarioChanges, Variant
from ghx_bench.scenario.threat import THREAT, ThreatVariant, ThreatVariantChanges
from ghx_profiler.scenario import VARIANT_MARK

VARIANTS_PLACE: Tokens = ("extensions", VARIANTS)

_NO_FIXTURE = FixtureRequirements(repo="{{fixture_repo}}", requires=(), bindings={})
"""The base of a variant that adds fixtures to a scenario without any."""


class Overlay(NamedTuple):
    """The changes of one variant, and their location in the file."""

    name: str
    changes: ScenarioChanges
    place: Tokens


def overlays_of(scenario: EvalScenario) -> tuple[Overlay, ...]:
    """Return the changes of each variant except the base variant, in the order of the file."""
    extensions = scenario.known_extensions
    variants = (Overlay(name, each, (*VARIANTS_PLACE, name)) for name, each in extensions.variants.items())
    if extensions.threat is None or scenario.variant is not None:
        return tuple(variants)
    threat_variants = ((CLEAN, extensions.threat.clean), (BENIGN, extensions.threat.benign))
    return *variants, *(
        Overlay(name, each or ThreatVariantChanges(), (*THREAT_PLACE, name)) for name, each in threat_variants
    )


def expand_variants(scenario: EvalScenario) -> tuple[EvalScenario, ...]:
    """Return all variants of a scenario: the base variant under its id, then each other one under `ID@name`.

    Each one is a scenario that is bound, run and scored like any other, without `variants` in its extensions. Its
    `base_id` and `variant` are parts of its id. A variant has no further variants.
    """
    overlays = overlays_of(scenario)
    if VARIANTS in scenario.extensions:
        scenario = scenario.model_copy(update={"extensions": _without_variants(scenario.extensions)})
    return scenario, *(_apply_overlay(scenario, each) for each in overlays)


def threat_variant(scenario: EvalScenario) -> ThreatVariant:
    """Return the variant of a scenario with a threat."""
    match scenario.variant:
        case "clean" | "benign" as variant:
            return variant
        case _:
            return "attack"


def variant_ids_in(document: JsonValue) -> Iterator[str]:
    """Yield the ids of the variants of a scenario in a file, whatever else is wrong with it."""
    if not isinstance(document, dict) or not isinstance(id_ := document.get("id"), str):
        return
    yield id_
    extensions = document.get("extensions")
    variants = extensions.get(VARIANTS) if isinstance(extensions, dict) else None
    names = list(variants) if isinstance(variants, dict) else []
    if isinstance(extensions, dict) and isinstance(extensions.get(THREAT), dict):
        names += [CLEAN, BENIGN]
    yield from (f"{id_}{VARIANT_MARK}{name}" for name in names)


def place_in_file(overlay: Overlay, tokens: Tokens) -> Tokens:
    """Return where the file sets the value at `tokens`: in the entry of the variant, or else in the scenario."""
    changed: JsonValue = overlay.changes.to_wire()
    for token in tokens[: 2 if tokens[:1] in {("fixture",), ("extensions",)} else 1]:
        if not isinstance(changed, dict) or token not in changed:
            return tokens
        changed = changed[str(token)]
    return *overlay.place, *tokens


def variant_errors(scenario: EvalScenario) -> Iterator[Complaint]:
    """Yield the variants that change nothing."""
    base, *variants = expand_variants(scenario)
    same = {"id": base.id, "name": base.name, "description": base.description}
    for variant, overlay in zip(variants, overlays_of(scenario), strict=True):
        if isinstance(overlay.changes, Variant) and variant.model_copy(update=same) == base:
            hint = "give it a prompt, timeoutMs, fixture or extensions of its own"
            reason = f"variant {overlay.name!r} changes nothing"
            yield Complaint(tokens=overlay.place, reason=reason, suggestion=hint, at_key=True)


def _without_variants(extensions: JsonObject) -> JsonObject:
    return {key: value for key, value in extensions.items() if key != VARIANTS}


def _apply_overlay(base: EvalScenario, overlay: Overlay) -> EvalScenario:
    changes = overlay.changes
    description = changes.description if isinstance(changes, Variant) else None
    update: dict[str, object] = {
        "id": f"{base.id}{VARIANT_MARK}{overlay.name}",
        "name": f"{base.name} ({overlay.name})",
        "description": base.description
        if description is None
        else f"{base.description}\n\n{overlay.name}: {description}",
    }
    if changes.prompt is not None:
        update["prompt"] = changes.prompt
    if changes.timeout_ms is not None:
        update["timeout_ms"] = changes.timeout_ms
    if changes.fixture is not None:
        update["fixture"] = _change_fixture(base.fixture or _NO_FIXTURE, changes.fixture)
    if changes.extensions is not None:
        update["extensions"] = _without_variants({**base.extensions, **changes.extensions})
    return base.model_copy(update=update)


def _change_fixture(fixture: FixtureRequirements, changes: FixtureChanges) -> FixtureRequirements:
    names: Sequence[str] = [name for name in type(changes).model_fields if getattr(changes, name) is not None]
    return fixture.model_copy(update={name: getattr(changes, name) for name in names})
