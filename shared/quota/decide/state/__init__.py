"""What one cycle has decided so far, and the usage that further decisions are judged on. Mutable, for one cycle."""
