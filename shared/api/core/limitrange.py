"""What a namespace's LimitRanges give to containers that do not say what they need.

Source: Kubernetes' defaulting of LimitRange (max -> default -> defaultRequest, min -> defaultRequest) and its
LimitRanger admission, which merges the Container items into every container and init container: of several objects
the first one wins, within one object the last item.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from shared.api.core.metadata import Metadata
from shared.api.json.reading import ResourceList, View, reader


class LimitRangeItem(View, frozen=True):
    """One item of a LimitRange; only those of type Container have defaults."""

    type: str = ""
    default: ResourceList = {}
    default_request: ResourceList = {}
    max: ResourceList = {}
    min: ResourceList = {}


class LimitRangeSpec(View, frozen=True):
    """The items of a LimitRange."""

    limits: list[LimitRangeItem] = []


class LimitRange(View, frozen=True):
    """A LimitRange."""

    metadata: Metadata = Metadata()
    spec: LimitRangeSpec = LimitRangeSpec()


@dataclass(frozen=True, slots=True)
class ContainerDefaults:
    """What a container in the namespace gets for missing values."""

    requests: Mapping[str, int | float | str] = field(default_factory=dict)
    limits: Mapping[str, int | float | str] = field(default_factory=dict)


NO_DEFAULTS: Final = ContainerDefaults()


def container_defaults(limit_ranges: Iterable[LimitRange]) -> ContainerDefaults:
    """Return all LimitRanges of one namespace as one; by name, so that the given order does not matter."""
    requests: ResourceList = {}
    limits: ResourceList = {}
    for each in sorted(limit_ranges, key=lambda found: found.metadata.name):
        own_requests: ResourceList = {}
        own_limits: ResourceList = {}
        for item in each.spec.limits:
            if item.type == "Container":
                default = {**item.max, **item.default}
                own_limits.update(default)
                own_requests.update({**item.min, **default, **item.default_request})
        requests = {**own_requests, **requests}
        limits = {**own_limits, **limits}
    if not requests and not limits:
        return NO_DEFAULTS
    return ContainerDefaults(MappingProxyType(requests), MappingProxyType(limits))


read_limit_range = reader(LimitRange)
