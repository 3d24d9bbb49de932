"""`quotree` and `kubectl quotree`: read, call the engine, print. Rules belong in `shared.quota`."""
