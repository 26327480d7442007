"""What is found in a scenario and in its variants, each thing once and where the file says it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pydantic import ValidationError

from ghx_base.documents import Complaint
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.extensions import VARIANTS
from ghx_bench.scenario.variants import expand_variants, overlays_of, place_in_file


def across_forms(
    scenario: EvalScenario, find: Callable[[EvalScenario], Iterable[Complaint]], *, only_in_variants: bool = False
) -> Iterator[Complaint]:
    """Yield the findings of a scenario and its variants, once each, at their location in the file.

    Of what a form shares with the scenario, something may be wrong in the form alone, and is then said to be; with
    `only_in_variants` that is left out.
    """
    in_plain = list(find(scenario))
    yield from in_plain
    try:
        overlays = overlays_of(scenario)
    except ValidationError:
        return  # that the extensions cannot be read is among what was found
    for form, overlay in zip(expand_variants(scenario)[1:], overlays, strict=True):
        for each in find(form):
            place = place_in_file(overlay, each.tokens)
            if place != each.tokens:
                yield replace(each, tokens=place)
            elif each not in in_plain and not only_in_variants:
                yield replace(each, reason=f"{each.reason} (in {form.id})")


def id_errors(scenario: EvalScenario) -> Iterator[Complaint]:
    """Yield that a file has the id of a variant, which its scenario makes."""
    if scenario.variant is not None:
        reason = f"{scenario.id!r} is the id of a variant"
        hint = f"write {scenario.base_id!r}, and what the variant changes in its extensions.{VARIANTS}"
        yield Complaint(tokens=("id",), reason=reason, suggestion=hint)
