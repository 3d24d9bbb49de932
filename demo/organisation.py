"""The demo's organisation: two divisions over the slice's nodes, one of them three levels deep, as manifests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dev.openb.manifests import GPU, by_model, flavor, flavor_name
from dev.openb.records import NodeRecord
from shared.api.names import API_VERSION

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A group and its part of what its parent has, in percent."""

    name: str
    parent: str | None
    percent: int
    is_parent: bool = False


PLACES: Final = (
    Place("research", None, 40, is_parent=True),
    Place("vision", "research", 60, is_parent=True),
    Place("vision-train", "vision", 70),
    Place("vision-eval", "vision", 30),
    Place("language", "research", 40),
    Place("production", None, 60, is_parent=True),
    Place("search", "production", 50),
    Place("ads", "production", 50),
)
RESEARCH: Final = ("vision-train", "vision-eval", "language")
PRODUCTION: Final = ("search", "ads")


def flavors(records: Iterable[NodeRecord]) -> list[Object]:
    """Return one flavor for each GPU model."""
    return [flavor(model) for model in sorted(by_model(records))]


def groups(records: Iterable[NodeRecord]) -> list[Object]:
    """Return the whole tree, parents before children.

    Mins are whole devices, cores and GiB, rounded down at each level.
    """
    mins: dict[str | None, dict[str, dict[str, int]]] = {None: _capacity(records)}
    made = []
    for place in PLACES:
        mins[place.name] = {
            model: {resource: amount * place.percent // 100 for resource, amount in gives.items()}
            for model, gives in mins[place.parent].items()
        }
        made.append(_group(place, mins[place.name]))
    return made


def _capacity(records: Iterable[NodeRecord]) -> dict[str, dict[str, int]]:
    return {
        flavor_name(model): {
            "cpu": sum(node.cpu_milli for node in nodes) // 1000,
            "memory": sum(node.memory_mib for node in nodes) // 1024,
            GPU: sum(node.gpus for node in nodes),
        }
        for model, nodes in sorted(by_model(records).items())
    }


def _group(place: Place, mins: Mapping[str, Mapping[str, int]]) -> Object:
    spec: Object = {"isParent": True} if place.is_parent else {}
    if place.parent:
        spec["parent"] = place.parent
    spec["quotas"] = [{"flavor": name, "min": _quantities(gives)} for name, gives in mins.items()]
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": place.name}, "spec": spec}


def _quantities(gives: Mapping[str, int]) -> dict[str, str]:
    return {resource: f"{amount}Gi" if resource == "memory" else str(amount) for resource, amount in gives.items()}
