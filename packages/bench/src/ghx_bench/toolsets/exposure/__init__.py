"""Which tools show untrusted text."""
