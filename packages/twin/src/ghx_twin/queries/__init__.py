"""Answers about a world that take more than one record."""
