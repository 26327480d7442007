"""GitHub's GraphQL API over a world: our own subset of its schema, its limits and its errors."""
