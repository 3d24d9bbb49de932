"""The client of the API server: connection, requests, watches, leader election, events.

Code here does not depend on quota. Only `connect.credentials_library` imports
kubernetes_asyncio, when a connection is made.
"""
