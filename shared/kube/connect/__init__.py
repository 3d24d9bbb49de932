"""Reaching the API server: which one, with which credentials, over which connections."""
