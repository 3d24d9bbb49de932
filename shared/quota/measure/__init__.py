"""What is true now: capacity, use, demand and runtime of every group. Nothing here chooses."""
