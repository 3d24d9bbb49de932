"""Measurements that developers run; each documents what it measures and how."""
