"""Commands on issues, and on what pull requests have in common with them."""

from ghx_twin.commands.issues.assignment import add_assignees, assignees_of, remove_assignees, set_assignees
from ghx_twin.commands.issues.creation import ISSUES_DISABLED, convert_to_pull, create, delete, insert, update
from ghx_twin.commands.issues.labelling import add_labels, find_labels, labels_of, remove_labels, set_labels
from ghx_twin.commands.issues.relations import (
    add_blocking,
    add_child,
    remove_blocking,
    remove_child,
    reprioritize_child,
)
from ghx_twin.commands.issues.state import (
    close,
    lock,
    mark_closed,
    mark_duplicate,
    pin,
    reopen,
    unlock,
    unmark_duplicate,
    unpin,
)
from ghx_twin.commands.issues.transfer import transfer

__all__ = [
    "ISSUES_DISABLED",
    "add_assignees",
    "add_blocking",
    "add_child",
    "add_labels",
    "assignees_of",
    "close",
    "convert_to_pull",
    "create",
    "delete",
    "find_labels",
    "insert",
    "labels_of",
    "lock",
    "mark_closed",
    "mark_duplicate",
    "pin",
    "remove_assignees",
    "remove_blocking",
    "remove_child",
    "remove_labels",
    "reopen",
    "reprioritize_child",
    "set_assignees",
    "set_labels",
    "transfer",
    "unlock",
    "unmark_duplicate",
    "unpin",
    "update",
]
