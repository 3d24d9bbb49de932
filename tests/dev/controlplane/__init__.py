"""Tests of the harness itself: what it starts it ends, and it says why when it cannot."""
