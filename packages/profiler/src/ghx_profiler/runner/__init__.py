"""The runner: measures cells one by one, with deadlines, retries and isolated plugin calls."""
