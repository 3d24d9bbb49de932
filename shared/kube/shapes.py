"""What answers look like, as far as the client itself looks into them."""

import enum
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class DryRun(enum.Enum):
    """Whether a write is only tried."""

    OFF = ""
    ALL = "All"


class WrittenMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """An object's metadata, the fields that writers need back."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ObjectMetadata(msgspec.Struct, frozen=True):
    """An answer of metadata alone: asked for with this type, the server sends no spec and status."""

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
