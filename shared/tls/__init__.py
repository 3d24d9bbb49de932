"""A server's certificate: created, kept in a Secret by all replicas together, rotated, and served."""
