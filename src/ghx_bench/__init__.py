"""A test bench for AI agents that work on GitHub."""
