"""The proof of scenarios: that the solution passes, and that nothing less, nothing else and nothing more does."""
