"""What carries HTTP requests to GitHub."""
