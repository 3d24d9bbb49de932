"""Tests of `quotree record` and `quotree replay`."""
