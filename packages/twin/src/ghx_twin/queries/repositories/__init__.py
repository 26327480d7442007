"""Queries of repositories."""
