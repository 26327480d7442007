"""GraphQL types of issues."""
