"""What a world holds: its records and the database they live in."""
