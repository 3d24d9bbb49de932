"""One module per command: read the options, call the engine, print. No rules and no arithmetic."""
