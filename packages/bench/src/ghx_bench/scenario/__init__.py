"""Scenarios as records: conditions, variables, binding, the fixture manifest."""
