"""Tests of the typed views."""
