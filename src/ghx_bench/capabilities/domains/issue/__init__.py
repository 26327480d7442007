"""Issues."""
