"""Conversions from other systems."""
