"""The engine run against itself in memory: cycle after cycle, and what is printed of it."""
