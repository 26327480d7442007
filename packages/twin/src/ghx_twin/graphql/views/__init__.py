"""The GraphQL types, one class each, by domain."""
