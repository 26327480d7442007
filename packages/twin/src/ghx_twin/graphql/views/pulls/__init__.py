"""GraphQL types of pulls."""
