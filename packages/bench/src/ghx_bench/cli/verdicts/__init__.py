"""Commands that compare runs, and gates."""
