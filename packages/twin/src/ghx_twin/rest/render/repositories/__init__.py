"""JSON of repositories."""
