"""Which devices the pods of one namespace request by ResourceClaims, counted as resources by DeviceClass.

A claim that was made counts as it is. One that is still to be made counts as its template says now. A pod that names a
claim counts all of it, and so does every other pod that names it.

See docs/specification.md §2.10.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from shared.api.core.pod import PodResourceClaim
from shared.api.core.resource_claim import ClaimDevices
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.tree import Amounts
from shared.resources import MAX_AMOUNT


class DeviceSource(StrEnum):
    """The kinds of objects that say which devices a pod takes."""

    CLAIM = "ResourceClaim"
    TEMPLATE = "ResourceClaimTemplate"


class DeviceRef(NamedTuple):
    """The name of a claim or template; the object might not exist."""

    source: DeviceSource
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class NamespaceDevices:
    """The claims and templates of one namespace, by name, as they are now."""

    namespace: str
    resources: DeviceResources
    claims: Mapping[str, ClaimDevices]
    templates: Mapping[str, ClaimDevices]

    def added_to(self, request: Amounts, wanted: Sequence[PodResourceClaim]) -> Amounts:
        """Return what one pod requests: `request`, and the devices of its claims as far as they are known."""
        total = dict(self.resources.renamed(request))
        for each in wanted:
            found = self._devices_of(each)
            if found is not None:
                for name, count in found.classes.items():
                    resource = self.resources.of_class(name)
                    total[resource] = min(total.get(resource, 0) + count, MAX_AMOUNT)
        return total

    def are_made(self, wanted: Iterable[PodResourceClaim]) -> bool:
        """Return whether all claims exist, so that no template decides any more."""
        return all(each.resource_claim_name in self.claims for each in wanted)

    def absent(self, wanted: Iterable[PodResourceClaim]) -> list[DeviceRef]:
        """Return the claims and templates that are named and do not exist, so that nobody knows what the pod takes."""
        refs = (refs_of(self.namespace, [each])[-1:] for each in wanted if self._devices_of(each) is None)
        return [ref for found in refs for ref in found]

    def uncountable(self, wanted: Iterable[PodResourceClaim]) -> Iterator[str]:
        """Yield why claims of a pod cannot be counted before they are allocated."""
        for each in wanted:
            found = self._devices_of(each)
            if found is not None and found.unlimited:
                source = DeviceSource.CLAIM if each.resource_claim_name in self.claims else DeviceSource.TEMPLATE
                yield (
                    f"{source} {found.name} requests all devices of a class (request {found.unlimited[0]}, "
                    "allocationMode All): how many it takes is known only once they are allocated; "
                    "write allocationMode ExactCount and a count"
                )

    def problems(self, wanted: Iterable[PodResourceClaim]) -> list[str]:
        """Return why the devices of a pod are not known, so that it must wait."""
        wanted = list(wanted)
        missing = [
            f"{ref.source} {ref.name} does not exist in namespace {ref.namespace}; it waits until it is created"
            for ref in self.absent(wanted)
        ]
        return list(dict.fromkeys([*missing, *self.uncountable(wanted)]))

    def _devices_of(self, wanted: PodResourceClaim) -> ClaimDevices | None:
        """Return what the claim that was made takes; before that, what its template says."""
        found = self.claims.get(wanted.resource_claim_name) if wanted.resource_claim_name else None
        return found or self.templates.get(wanted.resource_claim_template_name)


def refs_of(namespace: str, wanted: Iterable[PodResourceClaim]) -> list[DeviceRef]:
    """Return the claims and templates that decide what a pod takes."""
    found: list[DeviceRef] = []
    for each in wanted:
        if each.resource_claim_name:
            found.append(DeviceRef(DeviceSource.CLAIM, namespace, each.resource_claim_name))
        if each.resource_claim_template_name:
            found.append(DeviceRef(DeviceSource.TEMPLATE, namespace, each.resource_claim_template_name))
    return found
