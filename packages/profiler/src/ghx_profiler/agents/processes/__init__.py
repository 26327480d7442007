"""Programs of sessions: started, limited, kept in a sandbox, and ended with all that they started."""
