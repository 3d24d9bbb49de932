"""The parts of responses that the client itself reads."""

import enum
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class DryRun(enum.Enum):
    """Whether a write is a dry run."""

    OFF = ""
    ALL = "All"


class WrittenMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata fields that writers need."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ObjectMetadata(msgspec.Struct, frozen=True):
    """An object of metadata alone: requested as this type, the server sends no spec and status."""

    metadata: WrittenMetadata = WrittenMetadata()


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class ListBody(msgspec.Struct, Generic[T]):
    """A page as the API server sends it."""

    metadata: _ListMetadata = _ListMetadata()
    items: list[T] | None = None


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list; all pages of a list show the state at the same `resource_version`."""

    items: list[T]
    resource_version: str
