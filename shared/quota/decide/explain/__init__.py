"""Why pending work waits: the limit that binds, and the amount that is missing."""
