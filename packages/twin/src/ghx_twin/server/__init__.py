"""Serving worlds: sockets, credentials, headers and the environment of real clients."""
