"""How records look in REST: one function for each shape, from records to JSON."""
