"""What a run records: rows, traces, metrics, scores, causes."""
