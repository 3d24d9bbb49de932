"""What can go wrong with the control plane, each as one sentence for a person."""


class ControlPlaneError(Exception):
    """The control plane cannot be had or does not run; the text says what happened and how to fix it."""


class PortTakenError(ControlPlaneError):
    """A process could not listen because somebody else took its port."""
