"""Typed GitHub operations, by domain."""
