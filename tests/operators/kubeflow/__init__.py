"""Kinds of Kubeflow's operators."""
