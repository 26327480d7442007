"""The meter: what lies between agents and the APIs of models, counts, keeps the keys, records and replays."""
