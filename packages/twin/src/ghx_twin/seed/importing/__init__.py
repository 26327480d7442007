"""From a repository on any GitHub to a seed."""

from ghx_twin.seed.importing.repository import ImportedRepository, ImportLimits, import_repository

__all__ = ["ImportLimits", "ImportedRepository", "import_repository"]
