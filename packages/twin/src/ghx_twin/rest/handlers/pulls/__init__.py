"""Handlers of pulls."""
