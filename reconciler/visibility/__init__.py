"""The aggregated API visibility.quotree.dev: what waits and why, for those whom the RBAC of the API server lets ask.

Reads the latest snapshot and plan, and writes nothing in the cluster but its own certificate and the CA of its
APIService. Nothing else in this process depends on it. See docs/specification.md §14.5.
"""
