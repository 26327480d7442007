"""Commands that read stored runs."""
