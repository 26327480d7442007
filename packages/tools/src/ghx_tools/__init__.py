"""Typed GitHub operations for agents: the `ghx` command, a Python library, and an MCP server."""
