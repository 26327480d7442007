"""Measures any agent on any task; knows nothing of GitHub."""
