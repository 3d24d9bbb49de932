"""Measurements that are run by hand; each says what it measures and how."""
