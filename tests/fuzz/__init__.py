"""Tenants with the role `edit` who try everything, and a judge of what comes of it: `python -m tests.fuzz`."""
