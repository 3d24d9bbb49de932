"""Errors of the node, with a one-line message."""


class NodeError(Exception):
    """The node cannot be had or does not run; the text says what happened and what to do."""
