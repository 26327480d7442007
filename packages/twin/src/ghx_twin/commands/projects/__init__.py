"""Commands on projects, their fields, items and values."""

from ghx_twin.commands.projects.creation import (
    copy,
    create,
    create_view,
    delete,
    link,
    set_collaborator,
    unlink,
    update,
)
from ghx_twin.commands.projects.fields import create_field, delete_field, update_field
from ghx_twin.commands.projects.items import (
    add_draft,
    add_item,
    archive_item,
    delete_item,
    move_item,
    replace_draft,
    unarchive_item,
    update_draft,
)
from ghx_twin.commands.projects.status_updates import (
    create_status_update,
    delete_status_update,
    update_status_update,
)
from ghx_twin.commands.projects.values import clear_value, finish_items, set_value

__all__ = [
    "add_draft",
    "add_item",
    "archive_item",
    "clear_value",
    "copy",
    "create",
    "create_field",
    "create_status_update",
    "create_view",
    "delete",
    "delete_field",
    "delete_item",
    "delete_status_update",
    "finish_items",
    "link",
    "move_item",
    "replace_draft",
    "set_collaborator",
    "set_value",
    "unarchive_item",
    "unlink",
    "update",
    "update_draft",
    "update_field",
    "update_status_update",
]
