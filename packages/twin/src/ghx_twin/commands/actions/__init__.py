"""GitHub Actions: which runs are set off, and how they go on."""
