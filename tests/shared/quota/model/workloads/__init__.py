"""Rules about one workload: at its creation, at its edits, and what is only warned of."""
