"""What the webhook, the reconciler and the command line all stand on.

Directions, only downwards: process > kube | quota > api > resources | telemetry. `quota`, `api` and `resources` are
pure: no I/O, no clock, no logging.
"""
