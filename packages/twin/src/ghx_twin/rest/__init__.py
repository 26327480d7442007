"""GitHub's REST API over a world."""
