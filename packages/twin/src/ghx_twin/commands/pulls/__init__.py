"""Commands of pulls."""
