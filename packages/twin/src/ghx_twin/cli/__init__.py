"""The `ghx-twin` command."""
