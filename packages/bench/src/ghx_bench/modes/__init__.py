"""Modes: the tool sets that are compared, each with a PATH and MCP servers of its own."""
