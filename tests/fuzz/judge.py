"""Whether what runs is within the quota, told from lists alone; and what has been wrong for longer than it may be.

A list shows what a decision lags behind, and pods that end slowly: so a thing is a flaw only when every sample shows it
for longer than the stated time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from shared.api.core.pod import Pod, read_pod
from shared.api.core.pod_request import effective_request
from shared.api.names import GROUP_LABEL, UNIT_LABEL
from shared.quota.decide.decisions import Tier
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from tests.chaos.judging.at_rest import Rest, state_of
from tests.chaos.judging.replay import Amounts, excess
from tests.fuzz.stops import has_budget, tree_at

FREE: Final = ""
"""The group of what runs in a managed namespace and belongs to none."""


@dataclass(slots=True)
class Groups:
    """Which group a pod belongs to. Remembers Jobs and JobSets, for pods outlive them."""

    namespaces: dict[str, str]
    """namespace -> the group in its label, or empty; the others are not managed."""
    _owners: dict[str, str] = field(default_factory=dict)

    def see(self, owners: Iterable[dict[str, Any]]) -> None:
        """Note the groups of these JobSets and Jobs, JobSets first: a Job that one has made belongs to its group."""
        for each in owners:
            metadata = each["metadata"]
            if metadata["namespace"] in self.namespaces:
                labels = metadata.get("labels", {})
                made_for, own = self._owners.get(labels.get(UNIT_LABEL, "")), labels.get(GROUP_LABEL)
                self._owners[metadata["uid"]] = made_for or own or self.namespaces[metadata["namespace"]]

    def of(self, pod: Pod) -> str:
        """That of the Job that controls it, or of the JobSet that it was made for; else its own, its namespace's."""
        owner = self._owners.get(pod.owner_job or "") or self._owners.get(pod.metadata.unit or "")
        own = pod.metadata.labels.get(GROUP_LABEL)
        return owner or own or self.namespaces.get(pod.metadata.namespace, FREE)


def used_by_live_pods(pods: Iterable[dict[str, Any]], groups: Groups) -> dict[str, Amounts]:
    """Group -> what its pods ask for themselves, from the time that Quotree let them go until they have ended."""
    used: dict[str, Amounts] = {}
    for body in pods:
        pod = read_pod(body)
        if pod.metadata.namespace not in groups.namespaces or pod.is_gated or pod.has_ended:
            continue
        amounts = used.setdefault(groups.of(pod), {})
        for resource, amount in effective_request(pod.spec).items():
            amounts[resource] = amounts.get(resource, 0) + amount
    return used


def live_pods(pods: Iterable[dict[str, Any]], groups: Groups) -> Iterator[str]:
    """Yield a line for each pod that `used_by_live_pods` counts, for who looks for the cause of a flaw."""
    for body in pods:
        pod = read_pod(body)
        if pod.metadata.namespace not in groups.namespaces or pod.is_gated or pod.has_ended:
            continue
        shown = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
        about = {name: body["metadata"][name] for name in shown if name in body["metadata"]}
        yield f"{groups.of(pod)!r} counts {pod.metadata.key}: {dict(effective_request(pod.spec))} {json.dumps(about)}"


def over_limits(rest: Rest, groups: Groups, capacity: Mapping[str, int], now: datetime) -> Iterator[str]:
    """Every group above its ceiling in force, and pods that no group counts."""
    used = used_by_live_pods(rest.lists["pods"], groups)
    if any(used.pop(FREE, {}).values()):
        yield "pods run in a managed namespace and belong to no group"
    yield from (text.partition(" has ")[0] + " is over" for text in excess(tree_at(rest, now), used, capacity))


def entitled_waiting(rest: Rest, settings: QuotaSettings, now: datetime) -> Iterator[str]:
    """Pending workloads that must start now: entitled, or with room that is being made for them.

    What a list says of budgets lags behind: workloads of groups with one are not judged.
    """
    snapshot = measure(state_of(rest, settings).world_at(now), now)
    decided = plan(snapshot)
    claims = [each.claim for each in decided.evictions]
    claims += [each.claim for leaf in snapshot.leaves.values() for each in leaf.evicting]
    owed = {each.preemptor for each in claims if each is not None}
    owed |= {each.workload.key for each in decided.starts if each.tier is Tier.ENTITLED}
    tree = tree_at(rest, now)
    judged = (leaf for name, leaf in snapshot.leaves.items() if not has_budget(tree, name))
    pending = {each.key for leaf in judged for each in leaf.pending}
    yield from (f"{key} waits" for key in sorted(owed & pending))


@dataclass(slots=True)
class Patience:
    """How long each thing has been wrong without a break."""

    limit: timedelta
    longest: tuple[timedelta, str] = (timedelta(), "nothing")
    """For how long something was wrong at most, and what."""
    _since: dict[str, datetime] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def see(self, wrong: Iterable[str], now: datetime) -> list[str]:
        """What has been wrong for longer than the limit, each once."""
        current = set(wrong)
        self._since = {each: since for each, since in self._since.items() if each in current}
        self._reported &= current
        for each in current:
            self.longest = max(self.longest, (now - self._since.setdefault(each, now), each))
        late = [each for each in sorted(current - self._reported) if now - self._since[each] > self.limit]
        self._reported |= set(late)
        return [f"{each} for {(now - self._since[each]).total_seconds():.0f} s" for each in late]
