"""Why and how work is stopped."""
