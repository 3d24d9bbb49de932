"""The two CustomResourceDefinitions, whole, as they are applied."""

from collections.abc import Callable, Iterable
from typing import Any

from shared.api.crds import flavor, quotagroup
from shared.api.crds.parts import RULES, Schema
from shared.api.names import GROUP, VERSION


def quotagroup_definition() -> dict[str, Any]:
    """Return the CRD of QuotaGroup: cluster-scoped, with a status of its own, selectable by parent."""
    version = {
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.parent"}],
    }
    return _definition(quotagroup.quotagroup_names(), quotagroup.quotagroup_schema(), quotagroup.COLUMNS, version)


def flavor_definition() -> dict[str, Any]:
    """Return the CRD of ResourceFlavor: cluster-scoped, with a status of its own."""
    version: dict[str, Any] = {"subresources": {"status": {}}}
    return _definition(flavor.flavor_names(), flavor.flavor_schema(), flavor.COLUMNS, version)


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


def reads_amounts(rule: Schema) -> bool:
    """Whether the CEL rule reads an amount: a quantity, a count or a percent.

    API servers before 1.34 estimate its length at 3 MB, whatever the schema's `maxLength` says, and refuse the schema.
    """
    return "string(self" in rule["rule"]


def with_rules(schema: Any, choose: Callable[[Schema], list[Any]]) -> Any:
    """Return the same schema or definition, with what `choose` returns in place of each CEL rule."""
    if isinstance(schema, list):
        return [with_rules(each, choose) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: [chosen for each in part for chosen in choose(each)] if key == RULES else with_rules(part, choose)
        for key, part in schema.items()
    }
