"""JobSets with their real operator beside simulated nodes. The other operators have `tests/operators`."""
