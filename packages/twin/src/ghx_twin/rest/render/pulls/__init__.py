"""JSON of pulls."""
