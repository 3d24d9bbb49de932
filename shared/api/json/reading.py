"""How an object's JSON, or the mapping of a YAML manifest, becomes a typed view.

A view names only the fields that are used; everything else is skipped unread. What Kubernetes takes as absent (null)
is absent here as well. Text that is no such object is `Unreadable`, with the field's path.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
ResourceList = dict[str, int | float | str]
"""A resource list as it is written; `shared.resources.read_amount` makes numbers of it."""


class View(msgspec.Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """Base of all typed views: immutable, compared by value, unknown fields ignored."""


T = TypeVar("T")


class Unreadable(ValueError):
    """This is no such object; the message names the field and what was expected there."""


def reader(kind: type[T]) -> Callable[[bytes | msgspec.Raw | Mapping[str, Any]], T]:
    """Return a function that reads one `kind`. It raises Unreadable, and nothing else, whatever it is given."""
    decode = msgspec.json.Decoder(kind).decode

    def read(raw: bytes | msgspec.Raw | Mapping[str, Any]) -> T:
        try:
            if isinstance(raw, Mapping):
                return msgspec.convert(without_nulls(raw), kind)
            try:
                return decode(raw)
            except msgspec.ValidationError:
                return msgspec.convert(without_nulls(msgspec.json.decode(raw)), kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreadable(str(error)) from error
        except RecursionError as error:
            raise Unreadable("nested too deeply") from error

    return read


def without_nulls(value: Any) -> Any:
    """Return the value without the null members of its mappings and the null items of its lists."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def aware(time: datetime) -> datetime:
    """`time` in UTC. YAML may hold times without a zone: Kubernetes writes UTC only."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def read_time(text: str) -> datetime | None:
    """Return an RFC 3339 time with a zone, in UTC; None when `text` is not one."""
    try:
        time = msgspec.convert(text, datetime)
        return None if time.tzinfo is None else time.astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        return None


def write_moment(time: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, like Kubernetes' Time."""
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def write_time(time: datetime) -> str:
    """RFC 3339 in UTC with six digits of a second, as Kubernetes' MicroTime wants it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
