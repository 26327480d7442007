"""How `ghx-bench` ends where no other command of ours does."""

NOT_ALL_MEASURED = 3
