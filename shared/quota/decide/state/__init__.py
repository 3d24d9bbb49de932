"""What a round of a cycle reads, and the parts that its steps change: usage, evictions, claims, blocks, waits."""
