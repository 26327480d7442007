"""Files: written whole or not at all, locks, scratch folders."""
