"""The effective request of one pod, exactly as the scheduler counts it.

Source: Kubernetes' `component-helpers/resource` (PodRequests), its defaulting of pods (limits stand in for absent
requests; pod-level resources; every quantity rounded up to a thousandth) and LimitRanger. A pod's init containers run
one after the other beside the sidecars started before them, so the pod needs the larger of the hungriest init step and
of all containers and sidecars together. Sums are exact; base units are rounded up once per pod.

See docs/specification.md §2.8.
"""

from collections.abc import Mapping
from typing import Final

from shared.api.core.limitrange import NO_DEFAULTS, ContainerDefaults
from shared.api.core.pod import Container, PodSpec, ResourceNeeds
from shared.resources import MAX_AMOUNT, Amount, QuantityError, parse_number

_NANO_PER_MILLI: Final = 10**6
_MILLI: Final = 1000

Milli = dict[str, int]
"""Resource -> thousandths of its plain unit."""


def effective_request(
    spec: PodSpec,
    defaults: ContainerDefaults = NO_DEFAULTS,
    runtime_overhead: Mapping[str, int | float | str] | None = None,
) -> Mapping[str, Amount]:
    """Return the request of one pod of `spec` in base units; resources with a request of 0 are left out.

    `runtime_overhead` is its RuntimeClass's, used where the spec does not carry its overhead yet.
    Raises QuantityError with the field's path for text that is no quantity, and for negative ones.
    """
    requested = _containers(spec, defaults)
    if spec.resources is not None:
        requested.update(_pod_level(spec, spec.resources))
    overhead = spec.overhead or runtime_overhead
    if overhead:
        _add(requested, _read(overhead, "overhead"))
    return {resource: _base_units(resource, milli) for resource, milli in requested.items() if milli > 0}


COUNTED_BY_EVERY_POD: Final = ("cpu", "memory")
"""What every container uses, whether it says so or not."""


def unrequested(spec: PodSpec, defaults: ContainerDefaults = NO_DEFAULTS) -> tuple[tuple[str, str], ...]:
    """(field, resource) for every container that does not request cpu or memory, where the pod as a whole does not.

    Raises QuantityError as `effective_request` does.
    """
    whole = {} if spec.resources is None else _pod_level(spec, spec.resources)
    needed = [resource for resource in COUNTED_BY_EVERY_POD if not whole.get(resource)]
    fields = (("initContainers", spec.init_containers), ("containers", spec.containers))
    return tuple(
        (f"{name}[{index}]", resource)
        for name, containers in fields
        for index, container in enumerate(containers)
        for resource in needed
        if not _container(container, f"{name}[{index}]", defaults).get(resource)
    )


def _containers(spec: PodSpec, defaults: ContainerDefaults) -> Milli:
    together: Milli = {}
    for index, container in enumerate(spec.containers):
        _add(together, _container(container, f"containers[{index}]", defaults))
    if not spec.init_containers:
        return together
    sidecars: Milli = {}
    highest: Milli = {}
    for index, container in enumerate(spec.init_containers):
        needs = _container(container, f"initContainers[{index}]", defaults)
        if container.restart_policy == "Always":
            _add(together, needs)
            _add(sidecars, needs)
            needs = sidecars
        else:
            _add(needs, sidecars)
        _raise_to(highest, needs)
    _raise_to(together, highest)
    return together


def _container(container: Container, path: str, defaults: ContainerDefaults) -> Milli:
    """Requests, else limits, else the namespace's defaults, resource by resource."""
    needs = container.resources
    requested: dict[str, int | float | str] = {**needs.limits, **needs.requests}
    if defaults.requests:
        requested = {**defaults.requests, **requested}
    return _read(requested, f"{path}.resources.requests")


def _pod_level(spec: PodSpec, needs: ResourceNeeds) -> Milli:
    """Return what `spec.resources` puts in the place of the containers' sums.

    Where it has limits, what it does not request is what the containers themselves request of it, else its limit.
    """
    requested = _read(_supported(needs.requests), "resources.requests")
    limits = _read(_supported(needs.limits), "resources.limits")
    if needs.limits:
        for resource, milli in _containers(spec, NO_DEFAULTS).items():
            if resource in ("cpu", "memory"):
                requested.setdefault(resource, milli)
    for resource, milli in limits.items():
        requested.setdefault(resource, milli)
    return requested


def _supported(written: Mapping[str, int | float | str]) -> Mapping[str, int | float | str]:
    """Return the cpu, memory and huge pages; Kubernetes refuses any other resource of a pod as a whole."""
    return {
        resource: amount
        for resource, amount in written.items()
        if resource in ("cpu", "memory") or resource.startswith("hugepages-")
    }


def _read(written: Mapping[str, int | float | str], path: str) -> Milli:
    found: Milli = {}
    for resource, quantity in written.items():
        try:
            nano = parse_number(quantity)
        except QuantityError as error:
            raise QuantityError(f"{path}[{resource[:63]}]: {error}") from None
        if nano < 0:
            raise QuantityError(f"{path}[{resource[:63]}]: {str(quantity)[:64]!r} is negative; ask for 0 or more")
        found[resource] = -(-nano // _NANO_PER_MILLI)
    return found


def _add(total: Milli, more: Mapping[str, int]) -> None:
    for resource, milli in more.items():
        total[resource] = total.get(resource, 0) + milli


def _raise_to(total: Milli, floor: Mapping[str, int]) -> None:
    for resource, milli in floor.items():
        if milli > total.get(resource, 0):
            total[resource] = milli


def _base_units(resource: str, milli: int) -> Amount:
    return min(milli if resource == "cpu" else -(-milli // _MILLI), MAX_AMOUNT)
