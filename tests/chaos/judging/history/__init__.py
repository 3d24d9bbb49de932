"""What the API server stored, version by version, as the audit log tells it."""
