"""How much the engine does for one change: calls, not seconds."""
