"""What the webhook costs: reviews, creations, serialised edits, and a restart of its replicas."""
