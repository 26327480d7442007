"""Repositories: what they are and what is in them."""
