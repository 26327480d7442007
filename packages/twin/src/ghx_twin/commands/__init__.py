"""Every change of a world: the one place that keeps GitHub's rules."""
