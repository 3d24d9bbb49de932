"""Tests of `quotree test`."""
