"""JSON of actions."""
