"""One module per command: read the options, call the engine, print. No rule and no arithmetic belongs here."""
