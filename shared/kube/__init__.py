"""Talking to the API server: connection, calls, watches, election, events. Knows nothing of quota."""
