"""GraphQL types of actions."""
