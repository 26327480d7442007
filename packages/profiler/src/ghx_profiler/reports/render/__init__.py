"""A report as files: HTML, Markdown, charts, pages of sessions, and data for other programs."""
