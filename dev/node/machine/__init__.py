"""The machine under a node: what it must have, what a node changes on it and whose it is, and how every trace goes."""
