"""Tool sets measured without a model: what they cost, and what they let through."""
