"""The fields of metadata that Quotree reads of any kind."""

from datetime import UTC, datetime
from typing import Final

from shared.api.json.reading import View, aware
from shared.api.names import IN_USE, UNIT_LABEL

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The creation time of an object that was never created, such as one in a file."""


class OwnerReference(View, frozen=True):
    """One owner; at most one of them is the controller."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class Metadata(View, frozen=True):
    """The metadata of an object.

    `namespace` is empty for cluster-scoped objects and for manifests that leave it to the caller.
    """

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []

    @property
    def key(self) -> str:
        """namespace/name; the namespace is `default` where none is given, as for kubectl."""
        return f"{self.namespace or 'default'}/{self.name}"

    @property
    def created(self) -> datetime:
        """When the API server created it, in UTC."""
        return LONG_AGO if self.creation_timestamp is None else aware(self.creation_timestamp)

    @property
    def is_deleting(self) -> bool:
        """Whether its deletion was requested."""
        return self.deletion_timestamp is not None

    @property
    def unit(self) -> str:
        """The uid of the object of a governed kind that it was made for; empty: none."""
        return self.labels.get(UNIT_LABEL, "")

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages it, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class QuotaMetadata(Metadata, frozen=True):
    """The metadata of a QuotaGroup or ResourceFlavor."""

    finalizers: list[str] = []

    @property
    def waits_to_go(self) -> bool:
        """Whether its deletion was requested and waits until nothing uses it any more."""
        return self.is_deleting and IN_USE in self.finalizers
