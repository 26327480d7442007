"""Commands on repositories: their life, settings, copies and access."""

from ghx_twin.commands.repositories.access import add_collaborator, protect, remove_collaborator, unprotect
from ghx_twin.commands.repositories.creation import create, delete
from ghx_twin.commands.repositories.forks import fork
from ghx_twin.commands.repositories.settings import Changes, Settings, rename, update

__all__ = [
    "Changes",
    "Settings",
    "add_collaborator",
    "create",
    "delete",
    "fork",
    "protect",
    "remove_collaborator",
    "rename",
    "unprotect",
    "update",
]
