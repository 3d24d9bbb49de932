"""What would let a pending workload start: changes of the world, each tried in the engine before it is named."""
