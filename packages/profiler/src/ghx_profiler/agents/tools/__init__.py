"""What a session works with: a shell, MCP servers, files."""
