"""Carries decisions out: the only code that writes Jobs and pods, and the objects that Quotree creates for itself."""
