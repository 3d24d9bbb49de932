"""Random inputs for the arithmetic, and whether the engine measures them as the reference does."""
