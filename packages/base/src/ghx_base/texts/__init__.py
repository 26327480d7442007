"""Texts: templates, patterns, and how planted text is found."""
