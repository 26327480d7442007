"""Questions to a world that need more than one record to answer."""
