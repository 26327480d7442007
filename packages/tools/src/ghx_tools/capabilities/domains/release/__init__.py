"""Releases: what they are, how they are published, and the files they carry."""
