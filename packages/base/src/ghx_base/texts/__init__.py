"""Texts: templates, patterns, and the detection of injected text."""
