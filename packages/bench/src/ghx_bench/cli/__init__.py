"""The `ghx-bench` command: one module for each of its commands, imported when it runs."""
