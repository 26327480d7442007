"""Handlers of repositories."""
