"""A real Kubernetes control plane on one machine, for the demo, the tests and the benchmarks.

May live here: getting the binaries (`programs`), starting and ending the processes (`cluster`), and what a test does to
them (stop, freeze, restart, read the audit log). Not here: anything that knows Quotree. Not part of the wheel.
"""
