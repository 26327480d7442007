"""Handlers of issues."""
