"""Whether a decision is right, judged from the specification alone."""
