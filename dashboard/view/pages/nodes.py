"""Flavors with what they offer and what is used of them, and the nodes of each."""

from dashboard.view.frame import Frame
from shared.json_data import Json
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, SYSTEM, Amounts
from shared.text.quantities import readable


def flavor_list(frame: Frame) -> list[Json]:
    """Return every flavor: its labels, and for each resource its capacity, what groups use, and what others use."""
    known = sorted(with_default_flavor(frame.world.flavors), key=lambda each: each.name)
    return [
        {
            "flavor": each.name,
            "labels": ", ".join(f"{name}={value}" for name, value in sorted(each.node_labels.items())),
            "keys": _keys(frame, each.name),
        }
        for each in known
    ]


def _keys(frame: Frame, flavor: str) -> list[Json]:
    if frame.outlook is None:
        return []
    given = frame.outlook.given
    root, system = given.numbers.get(ROOT, {}), given.numbers.get(SYSTEM, {})
    found = []
    for key, capacity in sorted(given.capacity.items()):
        if key.flavor == flavor:
            used = root[key].used if key in root else 0
            own = system[key].used if key in system else 0
            amounts = {"capacity": capacity, "used": used - own, "system": own}
            amounts["unmanaged"] = frame.world.unmanaged.get(key, 0)
            text = {word: readable(key.resource, amount) for word, amount in amounts.items()}
            found.append({"resource": key.resource, **amounts, "text": text})
    return found


def node_slice(frame: Frame, first: int, count: int, text: str = "") -> Json:
    """Return nodes from number `first` on, by name; `text`: only those whose name holds it."""
    nodes = sorted((each for each in frame.world.nodes if text in each.name), key=lambda each: each.name)
    matcher = FlavorMatcher(with_default_flavor(frame.world.flavors))
    return {
        "total": len(nodes),
        "first": first,
        "frame": frame.number,
        "items": [_node(each, matcher) for each in nodes[first : first + count]],
    }


def _node(node: ClusterNode, matcher: FlavorMatcher) -> Json:
    return {
        "node": node.name,
        "flavor": matcher.flavor_of(node.labels) or "",
        "state": _state(node),
        "allocatable": _listed(node.allocatable),
    }


def _state(node: ClusterNode) -> str:
    if node.takes_pods:
        return "Ready"
    if node.not_ready_since is not None:
        return f"not ready since {node.not_ready_since.isoformat(timespec='seconds')}"
    return "takes no new pods"


def _listed(amounts: Amounts) -> str:
    return ", ".join(f"{readable(name, amount)} {name}" for name, amount in sorted(amounts.items()))
