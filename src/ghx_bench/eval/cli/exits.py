"""How `ghx-bench` ends, apart from 0 for all measured; errors of ours carry their own code."""

BAD_USAGE = 2
NOT_ALL_MEASURED = 3
INTERRUPTED = 130
