"""The client of the API server: connection, requests, watches, leader election, events.

Code here does not depend on quota. Only `access` imports kubernetes_asyncio, and only when it connects.
"""
