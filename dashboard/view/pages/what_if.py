"""What edits of min and max would change: the prediction of `quotree what-if`, and the rules that they would break."""

from dataclasses import replace
from datetime import datetime

from dashboard.view.frame import Frame
from dashboard.view.pages.edits import Edits, apply
from dashboard.view.pages.group import UnknownName
from shared.json_data import Json
from shared.problems import Problem
from shared.quota.measure.inputs.recount import recounted
from shared.quota.measure.inputs.world import World
from shared.quota.model import rules
from shared.quota.model.in_force import DatedTree
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.what_if import Prediction
from shared.text.quantities import readable


def what_if(frame: Frame, wanted: Edits) -> Json:
    """Return what would start, stop and wait; of edits that break a rule, the rules alone. Raises Problem."""
    if frame.outlook is None:
        raise Problem("what an edit changes cannot be computed: not everything that it depends on is shown to you")
    before = frame.outlook.given.world
    for each in wanted.edits:
        if each.group not in frame.groups:
            raise UnknownName(f"there is no QuotaGroup {each.group!r}")
    written = before.written or before.tree
    tree = apply(written, wanted.edits)
    context = rules.Context(
        flavors=before.flavors,
        max_depth=before.settings.max_depth,
        capacity=frame.outlook.given.capacity,
        now=frame.outlook.given.now,
    )
    groups = dict.fromkeys(each.group for each in wanted.edits)
    broken = [each for name in groups for each in rules.check_change_over_time(written, tree, name, context).violations]
    if broken:
        return {"frame": frame.number, "data": {"violations": [each.as_data() for each in broken]}}
    prediction = frame.outlook.prediction(_with_tree(before, tree, frame.outlook.given.now))
    return {"frame": frame.number, "data": {"violations": [], **_as_data(prediction)}}


def _with_tree(world: World, tree: Tree, now: datetime) -> World:
    dated = DatedTree.at(tree, now)
    inactive = rules.inactive_groups(dated.in_force, world.flavors, world.settings.max_depth)
    return recounted(replace(world, inactive=inactive).with_tree(dated), world.tree)


def _as_data(found: Prediction) -> Json:
    return {
        "start": [_named(each) for each in found.starts],
        "stop": [
            {
                **_named(each.evict.workload),
                "reason": each.evict.reason.value,
                "for": each.evict.claim.preemptor if each.evict.claim is not None else None,
                "restarts": each.restarts,
            }
            for each in found.stops
        ],
        "wait": [_named(each.workload) for each in found.waits],
        "depends": [_named(each) for each in found.depends or ()],
        "runtime": [
            {
                "group": each.group,
                "flavor": each.key.flavor,
                "resource": each.key.resource,
                "text": {
                    "before": readable(each.key.resource, each.before),
                    "after": readable(each.key.resource, each.after),
                },
            }
            for each in found.runtimes
        ],
        "stable": found.stable,
    }


def _named(workload: Workload) -> Json:
    return {"workload": workload.key, "kind": workload.kind, "group": workload.group}
