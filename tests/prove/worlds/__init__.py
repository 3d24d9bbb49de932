"""Random closed worlds, in which work arrives, waits and runs, and what some of them have besides."""
