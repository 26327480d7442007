"""GraphQL types of repositories."""
