"""Who of those that wait comes first, and what they are told."""
