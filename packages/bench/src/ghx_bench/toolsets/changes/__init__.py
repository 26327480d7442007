"""What differs between two measured tool sets."""
