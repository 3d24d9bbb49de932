"""The resources as which the devices of a DeviceClass are counted.

See docs/specification.md §2.10.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.resources import Amount

_SUFFIX: Final = ".deviceclass.resource.k8s.io/devices"
_EXTENDED: Final = "deviceclass.resource.kubernetes.io/"
"""How the containers of a pod request devices of a class, without a claim."""


@dataclass(frozen=True, slots=True)
class DeviceResources:
    """`names`: DeviceClass -> the resource that its devices count as; other classes have a name of their own."""

    names: Mapping[str, str] = field(default_factory=dict)

    def of_class(self, name: str) -> str:
        """Return the resource that devices of this class count as: by default the one of ResourceQuota."""
        return self.names.get(name) or f"{name}{_SUFFIX}"

    def __contains__(self, resource: object) -> bool:
        return isinstance(resource, str) and (resource.endswith(_SUFFIX) or resource in self.names.values())

    def renamed(self, request: Mapping[str, Amount]) -> Mapping[str, Amount]:
        """Return the request, with what its containers ask for by the name of a DeviceClass as its devices."""
        if not any(name.startswith(_EXTENDED) for name in request):
            return request
        found: dict[str, Amount] = {}
        for name, amount in request.items():
            counted = self.of_class(name.removeprefix(_EXTENDED)) if name.startswith(_EXTENDED) else name
            found[counted] = found.get(counted, 0) + amount
        return found


def on_nodes(resources: Iterable[str], devices: DeviceResources | None) -> Iterable[str]:
    """Return those of the resources that nodes offer: none says how many devices claims may take of it."""
    return resources if devices is None else [each for each in resources if each not in devices]
