"""Says what would let a workload start: one line for each remedy, or one for several that differ by a name only."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.json_data import Json
from shared.text.accounts.budgets import larger_budget
from shared.text.holders import named
from shared.text.quantities import readable

SMALLER: Final = "lower its parallelism, or replace it by one with smaller pods"
"""How a request becomes smaller: the pods of an object that exists cannot."""
_NAMED: Final = 2
"""Up to this number, remedies about other workloads are listed by name."""
_ALIKE: Final = 3
"""Up to this number, remedies of one action are listed."""


def remedy_lines(remedies: Sequence[Json]) -> Iterator[str]:
    """Yield every remedy."""
    yield from map(remedy_text, remedies)


def folded_remedies(remedies: Sequence[Json]) -> Iterator[str]:
    """Yield the remedies, those that differ by the name of a workload alone as one."""
    by_action: dict[str, list[Json]] = {}
    for each in remedies:
        by_action.setdefault(each["do"], []).append(each)
    for do, found in by_action.items():
        count = sum(each.get("workloads", 1) for each in found)
        if do == "WaitFor" and len(found) > _NAMED and not _requires_more(found):
            yield f"when any of {count} workloads ends"
        elif do == "Evict" and len(found) > _NAMED and not _requires_more(found):
            yield f"evict any of {count} workloads"
        else:
            yield from map(remedy_text, found[:_ALIKE])
            if len(found) > _ALIKE:
                yield f"or {len(found) - _ALIKE} more like the last"


def _requires_more(remedies: Sequence[Json]) -> bool:
    return any(each.get("and") for each in remedies)


def remedy_text(remedy: Json) -> str:
    """Return one remedy, after what is to be done before it."""
    key = f"{remedy.get('flavor', '')}/{remedy.get('resource', '')}"
    by = str(remedy.get("by", ""))
    by = readable(remedy["resource"], remedy["by"]) if by and "resource" in remedy else by
    by = f"{by}, for example," if remedy.get("example") else by
    to = f", to {remedy['percent']}" if "percent" in remedy else ""
    of_set = f" for pod set {remedy['podSet']}" if "podSet" in remedy else ""
    budget = larger_budget(remedy) if "hours" in remedy else ""
    texts = {
        "RaiseMin": f"raise min of {remedy.get('group')} by {by} of {key}{to}",
        "RaiseMax": f"raise max of {remedy.get('group')} by {by} of {key}{to}",
        "RaiseBudget": f"raise the budget of {remedy.get('group')} {budget}",
        "AddCapacity": f"{by} more of {key} in the cluster",
        "AddNode": f"{by} more node{'' if by == '1' else 's'} of {remedy.get('flavor')} like {remedy.get('like')}",
        "WaitFor": f"when {named(remedy)} ends" if "group" in remedy else "",
        "Evict": f"evict {named(remedy)}" if "group" in remedy else "",
        "Resume": f"resume {remedy.get('workload') or remedy.get('group')}",
        "RaiseLendingLimit": f"let {remedy.get('group')} lend {by} more of {key}, which it keeps while idle{to}",
        "RaisePriority": f"give it priority {remedy.get('priority')} or higher",
        "AllowPreemption": "let it be preempted: remove its label quotree.dev/preemptible",
        "FewerPods": f"run {by} fewer pod{'' if by == '1' else 's'} at a time{of_set}: lower its parallelism",
        "OtherFlavor": f"let it take flavor {remedy.get('flavor')}, which its label or the nodes it selects exclude",
        "ShrinkRequest": f"request {by} less of {remedy.get('resource')}{of_set}: {SMALLER}",
    }
    text = texts.get(remedy["do"], str(remedy["do"]))
    return ", then ".join([*map(remedy_text, remedy.get("and", ())), text])
