"""Tests of reconciler.recording."""
