"""What the commands work on: manifests and live objects, read into the engine's types. Nothing is printed here."""
