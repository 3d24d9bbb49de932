"""`quotree` and `kubectl quotree`: the engine for people. Reads, renders and exits; holds no rule of its own."""
