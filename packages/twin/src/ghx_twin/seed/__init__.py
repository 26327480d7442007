"""Worlds written down as files, and read back."""
