"""Workflows, their runs, what these say and what they store."""
