"""Commands that measure, and what they share."""
