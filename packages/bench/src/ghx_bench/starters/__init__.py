"""Drafts for `ghx-bench new scenario`, read by `eval.project.starter`: a task with its solution for each category."""
