"""The settings that the reconciler passes to the serving process."""

import msgspec

from reconciler.settings import VisibilityFile
from shared.process.common_settings import ConnectionFile, LogFile


class FrontSettings(msgspec.Struct, frozen=True):
    """The part of the reconciler's settings that it needs."""

    connection: ConnectionFile
    log: LogFile
    visibility: VisibilityFile
    home: str
    """The namespace in which Quotree is installed."""
