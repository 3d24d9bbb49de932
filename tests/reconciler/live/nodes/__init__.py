"""Flavors, nodes and devices: where work may run, and what is told when it cannot."""
