"""What the cluster is now: watches with the user's rights, and frames computed from them off the event loop."""
