"""Who is told before it is evicted, and when: of what this cycle plans, and of what a coming border brings."""
