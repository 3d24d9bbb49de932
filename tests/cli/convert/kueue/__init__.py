"""From Kueue's objects."""
