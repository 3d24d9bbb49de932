"""Departments and projects of Run:ai, as its API lists them, as groups: deserved is min, limit max, per node pool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import msgspec

from cli.convert.conversion import Conversion
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_parents, set_parents
from cli.read.manifests import Manifest
from shared.api.names import API_VERSION
from shared.quota.model.tree import DEFAULT_FLAVOR
from shared.resources import FlavorResource

POOL_LABEL: Final = "runai/node-pool"
_KINDS: Final = {"departments": "Department", "projects": "Project"}
_RESOURCES: Final = {"gpu": "nvidia.com/gpu", "cpu": "cpu", "memory": "memory"}
_MEMORY: Final = {"mib": 1 << 20, "mb": 10**6, "gb": 10**9, "gib": 1 << 30}
_WEIGHTED: Final = 100
"""What a weight of 1 becomes, so that fractions stay: 0.25 is 25."""


@dataclass(frozen=True, slots=True)
class OrgUnit:
    """A department or a project, as the API has it."""

    manifest: Manifest
    body: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its id, by which a project names its department."""
        return str(self.body.get("id", self.manifest.name))


def read_runai(files: Sequence[str]) -> tuple[list[OrgUnit], list[str]]:
    """Return the departments and projects in those files that the API has written, and the other files."""
    units, others = list[OrgUnit](), list[str]()
    for file in files:
        found = _lists_in(file)
        if found is None:
            others.append(file)
        else:
            units += _units(file, found)
    return units, others


def _lists_in(file: str) -> Mapping[str, Any] | None:
    path = Path(file)
    if not path.is_file():
        return None
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    is_list = isinstance(found, dict) and "kind" not in found and found.keys() & _KINDS.keys()
    return found if is_list else None


def _units(file: str, found: Mapping[str, Any]) -> Iterator[OrgUnit]:
    for plural, kind in _KINDS.items():
        for body in found.get(plural) or ():
            name = str(body.get("name", ""))
            named = {"metadata": {"name": name}}
            yield OrgUnit(Manifest(kind, "runai", name, None, named, file, 1, ""), body)


def convert_runai(units: Sequence[OrgUnit], made: Conversion) -> None:
    """Add the flavor of every node pool, and the group of every department and project."""
    named: list[NamedParent] = []
    for unit in units:
        draft = made.add_group(unit.manifest, unit.manifest.name.lower().replace("_", "-"), unit.manifest.kind.lower())
        draft.is_parent = unit.manifest.kind == "Department"
        named.append(NamedParent(draft, unit.id, str(unit.body.get("parentId") or "")))
        for pool in _pools(unit):
            _set_pool(draft, unit, pool, made)
        _set_rules(draft, unit, made)
        namespace = (unit.body.get("status") or {}).get("namespace") or unit.body.get("requestedNamespace")
        if namespace:
            made.label_namespace(str(namespace), draft.name)
    departments = {unit.id for unit in units if unit.manifest.kind == "Department"}
    # The parent of a department is its cluster or tenant, which is root.
    above = [each if each.parent in departments else NamedParent(each.draft, each.source, "") for each in named]
    groups = set_parents(above, ("",))
    _cover_alike(groups)
    cover_children(groups, additive=False)
    cover_parents(groups)


def _cover_alike(groups: Mapping[str, QuotaGroupDraft]) -> None:
    """Give each group min 0 of what any other one names, in each of its flavors: there it has no quota of it."""
    resources = dict.fromkeys(key.resource for draft in groups.values() for key in list(draft.keys()))
    for draft in groups.values():
        known = set(draft.keys())
        for flavor in list(draft.entries):
            missing = [each for each in resources if FlavorResource(flavor, each) not in known]
            draft.set("min", dict.fromkeys(missing, 0), flavor)


def _pools(unit: OrgUnit) -> list[Mapping[str, Any]]:
    """Return what it has in each node pool, those first that its workloads take first."""
    order = [str(each) for each in unit.body.get("defaultNodePools") or ()]
    found = unit.body.get("resources") or ()
    return sorted(found, key=lambda each: order.index(_name(each)) if _name(each) in order else len(order))


def _name(pool: Mapping[str, Any]) -> str:
    return str((pool.get("nodePool") or {}).get("name") or DEFAULT_FLAVOR)


def _set_pool(draft: QuotaGroupDraft, unit: OrgUnit, pool: Mapping[str, Any], made: Conversion) -> None:
    flavor, place = _flavor(_name(pool), unit, made), f"resources[{_name(pool)}]"
    for name, resource in _RESOURCES.items():
        given = pool.get(name) or {}
        unit_size = _MEMORY.get(str(given.get("units", "Mib")).lower(), 1 << 20) if name == "memory" else 1
        least, most = given.get("deserved"), given.get("limit")
        if least == -1:
            made.note(
                unit.manifest, f"{place}.{name}.deserved", "is unlimited: a group promises nothing without a number"
            )
        if least is None and most is None:
            continue
        own = ceil(max(0, least or 0) * unit_size)
        if (least or 0) * unit_size not in (own, -unit_size):
            made.note(unit.manifest, f"{place}.{name}.deserved", f"{least:g} is a fraction, and becomes {own}")
        draft.set("min", {resource: own}, flavor)
        if most is not None and most != -1:
            draft.set("max", {resource: max(own, ceil(most * unit_size))}, flavor)
        weight = given.get("overQuotaWeight")
        if weight is not None:
            draft.set("weight", {resource: ceil(weight * _WEIGHTED) * (1000 if name == "cpu" else 1)}, flavor)
    for name in ("priority", "rank"):
        if pool.get(name):
            made.note(unit.manifest, f"{place}.{name}", f"{pool[name]} has no counterpart and is left out")


def _flavor(pool: str, unit: OrgUnit, made: Conversion) -> str:
    """Return the flavor of a node pool, added where it is new; the default pool has what no other has."""
    if pool != DEFAULT_FLAVOR and not any(each["metadata"]["name"] == pool for each in made.flavors):
        body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": pool}}
        made.flavors.append({**body, "spec": {"nodeLabels": {POOL_LABEL: pool}}})
        text = f"write the labels of the node pool {pool} in place of {POOL_LABEL}: this list does not have them"
        made.note(unit.manifest, "resources", text)
    return pool


def _set_rules(draft: QuotaGroupDraft, unit: OrgUnit, made: Conversion) -> None:
    for name, value in (unit.body.get("schedulingRules") or {}).items():
        if name == "trainingJobTimeLimitSeconds" and value:
            draft.spec["maxRunTime"] = f"{int(value)}s"
        elif value is not None:
            made.note(unit.manifest, f"schedulingRules.{name}", f"{value} has no counterpart and is left out")
