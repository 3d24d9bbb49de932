"""Watches: streams of changes, decoded into compact records and kept up to date."""
