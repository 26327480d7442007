"""Search over many repositories."""
