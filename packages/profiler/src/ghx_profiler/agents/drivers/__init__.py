"""Real agents: over the Agent Client Protocol, as commands, and a plain loop of our own."""
