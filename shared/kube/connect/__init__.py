"""Connections to the API server: address, credentials, transport."""
