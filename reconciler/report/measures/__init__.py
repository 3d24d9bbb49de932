"""What metrics say that no single cycle shows: since when, how long, how much over time. Pure; `now` is passed in."""
