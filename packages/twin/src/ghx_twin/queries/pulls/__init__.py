"""Queries of pulls."""
