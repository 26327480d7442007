"""Which steps of a chain have to wait for which: those that do not commute keep their order."""

from dataclasses import dataclass
from typing import Final, Literal

from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.models import InputModel

ChangedObject = tuple[Literal["number", "thread", "issue"], str | int]
"""One object that is changed: its kind, and which one; objects of different kinds may be parts of each other."""

_NEW_ISSUE: Final[ChangedObject] = ("issue", "new")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The effect of a step, as far as it is known; `changed` is `None` if a change may be of more than one object."""

    effect: Literal["nothing", "reads", "changes"]
    changed: ChangedObject | None = None


NOTHING: Final = Impact(effect="nothing")
"""The impact of a step that will only fail."""


def estimate_impact(entry: Entry) -> Impact:
    """Return the impact of a step whose input is not known yet: that of its furthest reach."""
    return Impact(effect="reads" if entry.effect == "reads" else "changes")


def find_impact(entry: Entry, inputs: InputModel) -> Impact:
    """Return the impact of a step with an input that was checked."""
    reach = entry.reach
    if reach is None or any(_is_given(inputs, condition) for condition in reach.unless):
        return estimate_impact(entry)
    match reach.scope:
        case "named object":
            return Impact(effect="changes", changed=_named_object(inputs))
        case "new issue":
            return Impact(effect="changes", changed=_NEW_ISSUE)
        case "anything":
            return Impact(effect="changes")


def must_follow(later: Impact, earlier: Impact) -> bool:
    """Return whether a step has to wait until an earlier one is done.

    Reads wait for changes and changes wait for reads; changes wait for each other unless they are of two different
    objects for sure.
    """
    if NOTHING in {later, earlier}:
        return False
    if "reads" in {later.effect, earlier.effect}:
        return later.effect != earlier.effect
    if later.changed == earlier.changed == _NEW_ISSUE:
        # Two new issues have the same predecessors, so they start together; mutations of one GraphQL document are
        # carried out in its order, so the earlier step still gets the lower number.
        return False
    one, other = later.changed, earlier.changed
    are_different = one is not None and other is not None and one[0] == other[0] and one != other
    return not are_different


def _is_given(inputs: InputModel, condition: str) -> bool:
    """Return whether an input has a value (`event=APPROVE`) or, if none is named, another one than its default."""
    wire_name, _, value = condition.partition("=")
    name, field = next(pair for pair in type(inputs).model_fields.items() if pair[1].alias == wire_name)
    return getattr(inputs, name) == value if value else getattr(inputs, name) != field.default


def _named_object(inputs: InputModel) -> ChangedObject | None:
    """Return the object that an input names; `None` if two of its names could not be compared."""
    thread: object = getattr(inputs, "thread_id", None)
    if isinstance(thread, str):
        # Ids of the older form (base64) may name the same thread as one of this form.
        return ("thread", thread) if thread.startswith("PRRT_") else None
    # The repository is left out: one that was renamed goes by two names. Equal numbers of two repositories wait for
    # each other without need, which costs a round trip and is never wrong.
    number: object = getattr(inputs, "issue_number", None) or getattr(inputs, "pr_number", None)
    return ("number", number) if isinstance(number, int) else None
