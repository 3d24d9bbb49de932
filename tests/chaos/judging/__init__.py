"""Pure parts: read the history of a run, replay it, and find what must never happen; with their tests."""
