"""What can go wrong with the node, as one sentence for a person."""


class NodeError(Exception):
    """The node cannot be had or does not run; the text says what happened and what to do."""
