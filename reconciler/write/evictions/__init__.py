"""Writes that stop workloads: their patches with the reason, and the requests that end their pods."""
