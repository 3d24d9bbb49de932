"""Mutation testing of the engine: one small change at a time, and whether the pure tests notice it."""
