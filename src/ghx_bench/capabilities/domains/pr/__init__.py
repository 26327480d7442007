"""Pull requests."""
