"""The runner: cells measured one by one, with deadlines, retries and plugin calls kept apart."""
