"""The two CustomResourceDefinitions, whole, as they are applied."""

from collections.abc import Iterable
from typing import Any

from shared.api.crds import flavor, quotagroup
from shared.api.crds.parts import Schema
from shared.api.names import GROUP, VERSION


def quotagroup_definition() -> dict[str, Any]:
    """Return the CRD of QuotaGroup: cluster-scoped, with a status of its own, selectable by parent."""
    version = {
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.parent"}],
    }
    return _definition(quotagroup.quotagroup_names(), quotagroup.quotagroup_schema(), quotagroup.COLUMNS, version)


def flavor_definition() -> dict[str, Any]:
    """Return the CRD of ResourceFlavor: cluster-scoped, without a status."""
    return _definition(flavor.flavor_names(), flavor.flavor_schema(), flavor.COLUMNS, {})


def _definition(
    names: dict[str, Any], schema: Schema, columns: Iterable[tuple[str, str, str, int]], more: dict[str, Any]
) -> dict[str, Any]:
    printed = [
        {"name": name, "jsonPath": path, "type": kind, **({"priority": priority} if priority else {})}
        for name, path, kind, priority in columns
    ]
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": printed,
        **more,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }
