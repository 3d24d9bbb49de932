"""Metrics over several cycles: since when, how long, how much over time. Pure; `now` is passed in."""
