"""What one client of a server gets: its environment, its proxy, and certificates by which it trusts GitHub's names."""
