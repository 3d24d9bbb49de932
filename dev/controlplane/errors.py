"""Errors of the control plane, each with a one-line message."""


class ControlPlaneError(Exception):
    """The control plane cannot be had or does not run; the text says what happened and how to fix it."""


class PortTakenError(ControlPlaneError):
    """A process could not listen because its port was taken."""
