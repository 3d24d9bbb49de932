"""What devices a ResourceClaim, or the claims made from a ResourceClaimTemplate, take: how many of each DeviceClass.

Source: Kubernetes' ResourceQuota of claims. An exact count counts as it is; all devices of a class count as the most
that a claim may be allocated; of alternatives, each class counts as the one that asks for most of it.

See docs/specification.md §2.10.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from shared.api.core.metadata import Metadata
from shared.api.json.reading import View, reader
from shared.resources import MAX_AMOUNT, Amount

RESOURCE_API: Final = "resource.k8s.io/v1"
MAX_DEVICES: Final = 32
"""The most devices that one claim may be allocated."""
ALL: Final = "All"
"""The allocation mode that takes every matching device of a node."""


class DeviceSubRequest(View, frozen=True):
    """So many devices of one class; absent: one."""

    device_class_name: str = ""
    allocation_mode: str = ""
    count: int = 1
    admin_access: bool = False
    """Access to devices that others hold: it takes none. Only namespaces that an administrator chose may ask for it."""


class DeviceRequest(View, frozen=True):
    """One request of a claim: exactly this, or the first of several that is there."""

    name: str = ""
    exactly: DeviceSubRequest | None = None
    first_available: list[DeviceSubRequest] = []


class DeviceClaim(View, frozen=True):
    """`devices` of a claim."""

    requests: list[DeviceRequest] = []


class ResourceClaimSpec(View, frozen=True):
    """What a claim requests."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaim(View, frozen=True):
    """A ResourceClaim."""

    metadata: Metadata = Metadata()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class _TemplateSpec(View, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(View, frozen=True):
    """A ResourceClaimTemplate."""

    metadata: Metadata = Metadata()
    spec: _TemplateSpec = _TemplateSpec()


class ClaimDevices(msgspec.Struct, frozen=True, gc=False):
    """What one claim takes. `classes`: DeviceClass -> how many devices, at most."""

    namespace: str
    name: str
    classes: Mapping[str, Amount] = {}
    unlimited: tuple[str, ...] = ()
    """The requests that take all devices of a class, so that nobody knows how many before they are allocated."""


_read_claim = reader(ResourceClaim)
_read_template = reader(ResourceClaimTemplate)


def read_resource_claim(raw: bytes | msgspec.Raw | Mapping[str, object]) -> ClaimDevices:
    """Return what a ResourceClaim takes. Raises Unreadable."""
    claim = _read_claim(raw)
    return _devices_of(claim.metadata, claim.spec)


def read_shared_claim(raw: bytes) -> ClaimDevices | None:
    """Return the same of a claim that people made; None for one that was made for a pod. Raises Unreadable."""
    claim = _read_claim(raw)
    owner = claim.metadata.controller
    return None if owner is not None and owner.kind == "Pod" else _devices_of(claim.metadata, claim.spec)


def read_resource_claim_template(raw: bytes | msgspec.Raw | Mapping[str, object]) -> ClaimDevices:
    """Return what each claim that is made from a ResourceClaimTemplate takes. Raises Unreadable."""
    template = _read_template(raw)
    return _devices_of(template.metadata, template.spec.spec)


def _devices_of(metadata: Metadata, spec: ResourceClaimSpec) -> ClaimDevices:
    total: dict[str, Amount] = {}
    unlimited: list[str] = []
    for request in spec.devices.requests:
        for name, count in _most_of(request).items():
            total[name] = min(total.get(name, 0) + count, MAX_AMOUNT)
        if any(each.allocation_mode == ALL for each in _alternatives(request)):
            unlimited.append(request.name)
    return ClaimDevices(metadata.namespace or "default", metadata.name, total, tuple(unlimited))


def _alternatives(request: DeviceRequest) -> list[DeviceSubRequest]:
    found = request.first_available if request.exactly is None else [request.exactly]
    return [each for each in found if not each.admin_access]


def _most_of(request: DeviceRequest) -> Mapping[str, Amount]:
    """Return the most that an alternative asks for, by class."""
    most: dict[str, Amount] = {}
    for each in _alternatives(request):
        count = MAX_DEVICES if each.allocation_mode == ALL else max(0, each.count)
        most[each.device_class_name] = max(most.get(each.device_class_name, 0), min(count, MAX_AMOUNT))
    return most
