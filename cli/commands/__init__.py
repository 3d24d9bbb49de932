"""One module a command: reads its options, asks the engine, prints. No rule and no arithmetic of its own."""
