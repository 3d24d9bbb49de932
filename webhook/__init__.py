"""Answers the API server's questions about quota objects and managed work: accepted, refused, or changed how.

It describes and judges, by the model alone; it never measures and never decides who starts. Judges are pure: a review
and a view of the world in, a verdict out. Watches, HTTP and certificates live in shells of their own.
"""
