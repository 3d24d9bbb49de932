"""Generators that developers run; nothing here is installed."""
