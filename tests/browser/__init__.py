"""The dashboard in a real browser: `make browser`. Skipped, loudly, where there is none."""
