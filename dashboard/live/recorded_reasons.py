"""The reason that the reconciler recorded last for a workload, for users whose rights are too few to compute it."""

from datetime import datetime

import msgspec

from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import EVENTS


class _Series(msgspec.Struct, rename="camel"):
    last_observed_time: str = ""


class _RecordedEvent(msgspec.Struct, rename="camel"):
    reason: str = ""
    note: str = ""
    reporting_controller: str = ""
    event_time: str | None = None
    deprecated_last_timestamp: str | None = None
    series: _Series | None = None

    @property
    def time(self) -> str:
        last = self.series.last_observed_time if self.series is not None else None
        return last or self.event_time or self.deprecated_last_timestamp or ""


async def last_recorded(client: Client, kind: str, key: str) -> str:
    """Return the message of Quotree's last event about the workload, or why there is none."""
    namespace, _, name = key.partition("/")
    fields = f"regarding.name={name},regarding.kind={kind}"
    try:
        found = await client.list_all(EVENTS, namespace, into=_RecordedEvent, fields=fields)
    except ApiError as error:
        return f"events are not shown: {error}"
    own = [each for each in found if each.reporting_controller.startswith("quotree.dev/")]
    if not own:
        return "no event of Quotree is recorded for it; events are kept for an hour"
    return max(own, key=lambda each: _moment(each.time)).note


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
