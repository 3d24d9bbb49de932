"""Who stops: victims and their order, claims, swaps, notices, limits that are exceeded."""
