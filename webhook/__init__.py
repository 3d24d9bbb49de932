"""The admission webhook: accepts, refuses or changes quota objects and managed workloads.

It judges by the model alone; it never measures, and never decides what starts. Judges are pure functions from a review
and its context to a verdict. Watches, HTTP and certificates are separate shells around them.
"""
