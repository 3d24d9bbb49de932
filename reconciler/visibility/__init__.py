"""The aggregated API visibility.quotree.dev: what waits and why, for those whom the RBAC of the API server lets ask.

`front` is a process of its own, started by `serving`: it speaks to the API server, and writes nothing in the cluster
but its own certificate and the CA of its APIService. It asks `copies` of the reconciler's process, which have its
latest snapshot and plan. So the process that decides does nothing for a question but copy itself now and then, and
nothing else depends on the API. See docs/specification.md §14.5.
"""
