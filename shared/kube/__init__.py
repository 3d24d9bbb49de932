"""The client of the API server: connection, requests, watches, leader election, events.

Nothing here knows what a quota is. Only `access` imports kubernetes_asyncio, and only when it connects.
"""
