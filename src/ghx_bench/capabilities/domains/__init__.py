"""Capabilities by domain."""
