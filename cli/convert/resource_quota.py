"""ResourceQuotas as leaves, one for each namespace, which may use exactly what the quota allows: max is min."""

from collections.abc import Sequence
from typing import Final

from cli.convert.conversion import Conversion, read_object, read_one, select_namespaces
from cli.convert.draft import QuotaGroupDraft, cover_requested
from cli.convert.workload_labels import requested_resources
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import ResourceList, View, reader
from shared.api.names import POD_COUNT
from shared.resources import Amount

_REQUESTS: Final = "requests."
_COMPUTE: Final = ("cpu", "memory")
_STORAGE: Final = ("storage", "ephemeral-storage")


class _Spec(View, frozen=True):
    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: dict[str, object] = {}


class _ResourceQuota(View, frozen=True):
    spec: _Spec = _Spec()


_read = reader(_ResourceQuota)


def convert_resource_quotas(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Add a leaf for each namespace with a ResourceQuota; of several, all of which hold, the lowest number counts."""
    quotas = [each for each in manifests if (each.api_version, each.kind) == ("v1", "ResourceQuota")]
    check_unique(quotas)
    leaves: dict[str, QuotaGroupDraft] = {}
    for manifest in quotas:
        spec = read_object(_read, manifest).spec
        if spec.scopes or spec.scope_selector:
            place = "spec.scopes" if spec.scopes else "spec.scopeSelector"
            made.note(manifest, place, "is about some pods only: write a leaf for them, or keep the ResourceQuota")
            continue
        amounts = _requests(manifest, spec.hard, made)
        if amounts:
            _lower_limits(leaves, manifest, amounts, made)
    cover_requested({each.name: each for each in leaves.values()}, requested_resources(manifests))


def _requests(manifest: Manifest, hard: ResourceList, made: Conversion) -> dict[str, Amount]:
    """Return what pods may request together, and how many there may be.

    `cpu` and `memory` mean `requests.cpu` and `requests.memory`.
    """
    found: dict[str, Amount] = {}
    for name, quantity in hard.items():
        resource = name.removeprefix(_REQUESTS)
        is_request = name.startswith(_REQUESTS) and resource not in _STORAGE
        if not (is_request or name in _COMPUTE or name == POD_COUNT):
            made.note(manifest, f"spec.hard[{name}]", "is not counted: keep a ResourceQuota for it")
            continue
        amount = read_one(manifest, f"spec.hard[{name}]", resource, quantity)
        found[resource] = min(amount, found.get(resource, amount))
    return found


def _lower_limits(
    leaves: dict[str, QuotaGroupDraft], manifest: Manifest, amounts: dict[str, Amount], made: Conversion
) -> None:
    namespace = manifest.namespace or "default"
    if namespace not in leaves:
        leaf = leaves[namespace] = made.add_group(manifest, namespace, "namespace")
        leaf.spec["namespaceSelector"] = select_namespaces([namespace])
        made.label_namespace(namespace, leaf.name)
    leaf = leaves[namespace]
    known = {key.resource: leaf.amount("max", key) or 0 for key in leaf.keys()}  # noqa: SIM118 - not a mapping
    lowest = {resource: min(amount, known.get(resource, amount)) for resource, amount in amounts.items()}
    leaf.set("min", {name: amount for name, amount in lowest.items() if name != POD_COUNT})
    leaf.set("max", lowest)
