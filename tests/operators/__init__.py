"""Governed kinds with their real operators, which `make test-operators` builds. JobSet's is in `tests/jobset`."""
