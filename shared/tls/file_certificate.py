"""A certificate that an administrator provides as two files."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Final

from shared.telemetry import get_logger
from shared.tls.ca import KeyPair
from shared.tls.serving_cert import CertificateHolder

_POLL: Final = timedelta(seconds=1)

log = get_logger(__name__)


class FileCertificate:
    """Serves tls.crt and tls.key of a folder; an incomplete pair is not used until it is complete."""

    def __init__(self, holder: CertificateHolder, directory: str) -> None:
        self._holder = holder
        self._folder = Path(directory)
        self._tried: KeyPair | None = None

    def look(self) -> None:
        """Use the files if they are new and valid."""
        try:
            pair = KeyPair((self._folder / "tls.crt").read_bytes(), (self._folder / "tls.key").read_bytes())
        except OSError as error:
            log.warning("Certificate files cannot be read", reason=str(error))
            return
        if pair != self._tried:
            self._tried = pair
            self._holder.show(pair)

    async def run(self) -> None:
        """Run indefinitely, once a second."""
        while True:
            self.look()
            await asyncio.sleep(_POLL.total_seconds())
