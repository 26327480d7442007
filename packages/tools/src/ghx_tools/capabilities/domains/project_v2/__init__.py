"""Projects (v2): boards of users and organizations."""
