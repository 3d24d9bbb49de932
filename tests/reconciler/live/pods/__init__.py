"""Pods alone, in groups and of controllers."""
