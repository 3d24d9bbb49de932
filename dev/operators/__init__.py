"""Real operators of governed kinds, and cert-manager, beside the control plane: what is built, and how it is run.

Nothing of Quotree imports this; tests and the demo do. An operator runs as its own service account with the rights,
definitions and webhooks of its own manifests, so that what it does here is what it does on a cluster.
"""
