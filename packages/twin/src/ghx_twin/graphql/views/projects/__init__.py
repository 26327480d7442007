"""Projects as GraphQL shows them."""
