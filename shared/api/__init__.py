"""Typed views of Kubernetes objects: the fields that Quotree uses, and their text form. No rules."""
