"""Rules about Jobs and pods that are submitted or changed; one rule, one function."""
