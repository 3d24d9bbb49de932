"""Closed worlds lived through until they rest, what must hold then, and the smallest world that breaks it."""
