"""Workflows of GitHub Actions, their runs, and the logs of jobs."""
