"""What the process that serves is told by the one that starts it."""

import msgspec

from reconciler.settings import VisibilityFile
from shared.process.common_settings import ConnectionFile, LogFile


class FrontSettings(msgspec.Struct, frozen=True):
    """Parts of the reconciler's settings."""

    connection: ConnectionFile
    log: LogFile
    visibility: VisibilityFile
    home: str
    """The namespace in which Quotree is installed."""
