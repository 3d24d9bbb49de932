"""Random flavors, nodes and placements of pods: labels, taints, selectors, affinity, tolerations."""

from shared.api.core.placement import Placement, Requirement, Taint, Toleration
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from tests.prove.random_draw import Dice

LABELS = ("kind", "zone", "other")
VALUES = ("a", "b", "7", "12")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def random_flavor(dice: Dice, name: str) -> Flavor:
    """A flavor with some labels, seldom with a taint or a toleration."""
    return Flavor(
        name,
        node_labels=_labels(dice),
        node_taints=(Taint("gpu", dice.one_of(EFFECTS), dice.one_of(VALUES)),) if dice.chance(15) else (),
        tolerations=(_toleration(dice),) if dice.chance(10) else (),
    )


def _labels(dice: Dice) -> dict[str, str]:
    return {label: dice.one_of(VALUES) for label in LABELS[:2] if dice.chance(40)}


def random_nodes(dice: Dice, scale: int) -> tuple[ClusterNode, ...]:
    """A few nodes, some of them not ready, with labels that one, many or no flavor asks for."""
    return tuple(
        ClusterNode(
            f"node-{number}",
            labels=_labels(dice) | {"other": "a"},
            allocatable={name: dice.between(0, scale) for name in ("cpu", "memory", "gpu", "pods") if dice.chance(80)},
            takes_pods=not dice.chance(15),
        )
        for number in range(dice.between(0, 6))
    )


def random_placement(dice: Dice) -> Placement:
    """What a pod template may say, agreeing with the flavors or not."""
    terms = tuple(_term(dice) for _ in range(dice.between(0, 2)))
    return Placement(
        node_selector={label: dice.one_of(VALUES) for label in LABELS if dice.chance(15)},
        affinity=terms if dice.chance(40) else None,
        tolerations=(_toleration(dice),) if dice.chance(50) else (),
    )


def _term(dice: Dice) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            dice.one_of(LABELS),
            dice.one_of(OPERATORS),
            tuple(dice.one_of(VALUES) for _ in range(dice.between(0, 2))),
        )
        for _ in range(dice.between(0, 2))
    )


def _toleration(dice: Dice) -> Toleration:
    return Toleration(
        key=dice.one_of(("gpu", "gpu", "", "other")),
        operator=dice.one_of(("Exists", "Equal")),
        value=dice.one_of(("", *VALUES)),
        effect=dice.one_of(("", *EFFECTS)),
    )
