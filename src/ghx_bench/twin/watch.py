"""What one user of a world sends, shown to whoever watches for a text that must not leave; nothing of it is kept."""

from dataclasses import dataclass

from ghx_bench._base.canary import CanaryWatch

LONGEST_PLACE = 200
"""Characters of where something was sent."""


@dataclass(frozen=True, slots=True)
class SentWatch:
    """The watch over one user: what they write on GitHub, push, and ask of other hosts through their proxy."""

    login: str
    canary: CanaryWatch

    def look(self, where: str, *parts: str | bytes) -> None:
        """Look through a message that goes to `where`."""
        encoded = [each if isinstance(each, bytes) else each.encode("utf-8", "replace") for each in parts]
        self.canary.look(where[:LONGEST_PLACE], *encoded)
