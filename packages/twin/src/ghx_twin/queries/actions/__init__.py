"""GitHub Actions: what workflow files say, and how their jobs go by the scripts of a seed."""
