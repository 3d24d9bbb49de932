"""The engine's tests: each part's own, a slow reference of the arithmetic, and an oracle of what one cycle may do."""
