"""What each operation does, by the part of GitHub that it belongs to."""
