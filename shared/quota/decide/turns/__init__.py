"""Which waiting workloads get a turn: decided at the beginning of a cycle; no other step knows of turns."""
