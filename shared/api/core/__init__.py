"""Typed partial views of Kubernetes' own objects, and what follows from one object alone."""
