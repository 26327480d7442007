"""Runs on disk: the directory, its rows, its record, its lock."""
