"""A server's certificate: made, kept in a Secret by all replicas together, rotated, and shown."""
