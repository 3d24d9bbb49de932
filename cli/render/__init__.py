"""Text and tables. Only formatting: every number comes from the engine."""
