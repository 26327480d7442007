"""What `ghx-bench new scenario` makes drafts of: for each category a task with its solution; read by `eval.starter`."""
