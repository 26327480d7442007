"""The `ghx` command: typed GitHub operations for agents."""
