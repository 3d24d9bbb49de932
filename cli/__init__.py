"""`quotree` and `kubectl quotree`: read, call the engine, print. No rule of its own belongs here."""
