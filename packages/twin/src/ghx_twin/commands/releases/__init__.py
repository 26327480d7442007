"""Releases and their files: made, published, changed and deleted."""

from ghx_twin.commands.releases.assets import delete_asset, update_asset, upload_asset
from ghx_twin.commands.releases.publication import create, delete, update

__all__ = ["create", "delete", "delete_asset", "update", "update_asset", "upload_asset"]
