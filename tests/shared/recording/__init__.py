"""Tests of shared.recording."""
