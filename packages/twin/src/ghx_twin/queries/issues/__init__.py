"""Queries of issues."""
