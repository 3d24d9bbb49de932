"""Reads manifests and live objects into the engine's types. Nothing is printed here."""
