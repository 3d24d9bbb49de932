"""Text and tables for people. Only formatting: every number comes from the engine."""
