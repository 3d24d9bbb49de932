"""Workloads of which a part runs on nodes that take no more pods."""

from dataclasses import replace

from shared.quota.model.workload import Workload
from tests.prove.random_draw import Dice
from tests.shared.quota.reference.inputs import ReferenceInputs
from tests.shared.quota.reference.usage_by_definition import asked


def with_closed_nodes(dice: Dice, inputs: ReferenceInputs) -> ReferenceInputs:
    """The same; where nodes decide, some of what runs is on nodes that were cordoned since."""
    return replace(inputs, workloads=tuple(_maybe_closed(dice, inputs, each) for each in inputs.workloads))


def _maybe_closed(dice: Dice, inputs: ReferenceInputs, work: Workload) -> Workload:
    if work.admission is None or not dice.chance(40):
        return work
    used = asked(work, work.admission.flavors)
    held = {key: dice.between(0, amount) for key, amount in sorted(used.items()) if key not in inputs.capacity}
    return replace(work, admission=replace(work.admission, on_closed_nodes=held))
