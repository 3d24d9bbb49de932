"""What is in force in a group: its stop policy, its reclaim and startup settings, and whether it is active at all."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inactive:
    """Why nothing new starts in a group: a stable CamelCase word, and a sentence."""

    reason: str
    message: str
