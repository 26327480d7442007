"""The git side of a world: bare repositories, their objects, and the smart HTTP protocol."""
