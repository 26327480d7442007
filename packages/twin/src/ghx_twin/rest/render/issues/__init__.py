"""JSON of issues."""
