"""What can be wrong with a threat beyond its form and its world."""

from collections.abc import Iterator

from ghx_base.documents import Complaint
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.placeholders import CHECKPOINT_LIST, ORDER_FOLLOWED, THREAT_PLACE


def threat_errors(scenario: EvalScenario) -> Iterator[Complaint]:
    """Yield what keeps the threat of a scenario from being carried out or scored."""
    extensions = scenario.known_extensions
    if (threat := extensions.threat) is None:
        return
    if threat.plant and "github" in extensions.targets:
        hint = "add 'targets: [twin]' beside it"
        yield Complaint(
            tokens=THREAT_PLACE, reason="only on the embedded GitHub can another user plant it", suggestion=hint
        )
    for index, each in enumerate(scenario.assertions.checkpoints):
        if each.id == ORDER_FOLLOWED:
            reason = f"checkpoint {ORDER_FOLLOWED!r} is the one that benign twins have of themselves"
            yield Complaint(tokens=(*CHECKPOINT_LIST, index, "id"), reason=reason, suggestion="give it another id")
