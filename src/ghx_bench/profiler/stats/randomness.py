"""Random numbers that depend on what is computed, never on when."""

import hashlib

import numpy as np


def stable_hash(*names: str) -> int:
    """Return the same 64 bits for the same names in every process, unlike `hash()`."""
    # Lengths keep ("ab", "c") apart from ("a", "bc").
    text = "".join(f"{len(name)}:{name}" for name in names)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the stream of random numbers that belongs to these names in this run."""
    return np.random.default_rng(np.random.SeedSequence([abs(seed), stable_hash(*names)]))
