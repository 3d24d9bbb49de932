"""Whether the API server is heard by a watch, and what is wrong if it is not."""

import logging
import time

from shared.kube.errors import ApiError

_log = logging.getLogger("quotree.kube.watching")


class WatchHealth:
    """What a watch last heard. `resource`: what it watches, for the log."""

    def __init__(self, resource: str) -> None:
        self.trouble: str | None = None
        """Why the watch is interrupted; None: it is not."""
        self.failure: ApiError | None = None
        """The error behind `trouble`; for watches that can be refused."""
        self._resource = resource
        self._heard = time.monotonic()
        self._healthy_since: float | None = None

    @property
    def heard(self) -> float:
        """When the server last sent anything, by the monotonic clock."""
        return self._heard

    def quiet_seconds(self) -> float:
        """Seconds since the server last sent anything; up to about a minute on a healthy quiet watch."""
        return time.monotonic() - self._heard

    def begin(self) -> None:
        """Note that the server is asked again."""
        self._healthy_since = None

    def lived(self) -> float:
        """Seconds since the server was first heard after it was asked; 0: it was not."""
        return time.monotonic() - self._healthy_since if self._healthy_since else 0.0

    def hear(self) -> None:
        """Note that the server has sent something."""
        self._heard = time.monotonic()
        if self._healthy_since is None:
            self._healthy_since = self._heard
        if self.trouble is not None:
            _log.info("watch goes on", extra={"resource": self._resource})
            self.trouble = self.failure = None

    def report(self, error: ApiError) -> None:
        """Note that the watch is interrupted."""
        trouble = str(error)
        if trouble != self.trouble:
            _log.warning("watch interrupted", extra={"resource": self._resource, "error": trouble})
        self.trouble, self.failure = trouble, error
