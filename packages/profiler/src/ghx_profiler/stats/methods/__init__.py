"""Statistical methods, without knowledge of runs."""
