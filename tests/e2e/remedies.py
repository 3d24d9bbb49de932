"""`python -m tests.e2e.remedies`: remedies of a live cluster, carried out as a person would, let their Jobs start.

Between them Jobs come and end, groups are edited and put on hold, budgets are spent, and capacity is lost and returns:
a node shrinks and grows, is cordoned, or is deleted with its pods and comes back. Each remedy is read from
`quotree explain -o json`, and is made by requests to the API server, what stands in `and` first, until the cluster is
at rest again; evictions by `quotree evict`. Exit code 1 when a Job does not start. `tests/e2e/test_remedies.py` makes
a few. With `--minutes` it ends before a limit of time is reached; runs with other seeds add up.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import binaries
from tests.e2e.edits import CPUS, GROUPS, LEAVES, LiveTree, live_tree
from tests.reconciler.reconciler_process import wait_for

NODES: Final = "/api/v1/nodes"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
MERGE: Final = "application/merge-patch+json"
SPARE: Final = "node-1"
"""The node that is lost and comes back."""
SPARE_CPUS: Final = 12
LEFT_OUT: Final = frozenset({"ShrinkRequest", "RaisePriority"})
"""Remedies for which a Job has to be replaced by another: that has another place in the queue."""
_TO_START: Final = 180.0
"""Seconds in which the Job of a remedy must start: pods of a node that is gone count until Kubernetes removes them."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tried:
    """One remedy that was carried out, and whether its Job started."""

    job: str
    remedy: Json
    while_lost: bool
    """Whether capacity was lost at that time."""
    started: bool
    says: str = ""
    """What the Job waits for after that, if it did not start."""


@dataclass(slots=True)
class TroubledTree:
    """A live tree in which everything changes."""

    tree: LiveTree
    dice: Random
    made: int = 0
    lost: int = 0
    """How many cpus the spare node lacks now."""
    returned: int = 0
    """How often capacity has come back."""
    nodes: set[str] = field(default_factory=set)
    """Nodes that a remedy has added."""
    chosen: Counter[str] = field(default_factory=Counter)
    """Kind of remedy, with those that it requires → how often it was chosen."""

    def remedies(self) -> Iterator[Tried]:
        """Disturb the cluster, let it come to rest, and carry out one remedy of one Job that waits; indefinitely."""
        while True:
            for _ in range(self.dice.randint(1, 3)):
                self._disturb()
            self._keep_full()
            self.tree.rest()
            found = self._chosen()
            if found is not None:
                job, remedy = found
                yield self._carried_out(job, remedy)

    def _disturb(self) -> None:
        changes: Sequence[tuple[Callable[[], None], int]] = (
            (self._add_job, 4),
            (self._end_job, 2),
            (self._edit, 4),
            (self._resize, 4),
            (self._cordon, 1),
            (self._lose_or_return, 1),
        )
        actions, weights = zip(*changes, strict=True)
        self.dice.choices(actions, weights)[0]()

    def _add_job(self) -> None:
        self.made += 1
        preemptible = {} if self.dice.random() < 0.8 else {"quotree.dev/preemptible": "false"}
        held = {"quotree.dev/hold": "true"} if self.dice.random() < 0.1 else {}
        self.tree.job(f"more-{self.made}", self.dice.choice(LEAVES), self.dice.randint(1, 6), preemptible | held)

    def _end_job(self) -> None:
        running = sorted(self.tree.jobs().running)
        if running:
            self._end(self.dice.choice(running))

    def _edit(self) -> None:
        name = self.dice.choice(LEAVES)
        quota: Json = {"min": {"cpu": self.dice.randint(0, 8)}}
        if self.dice.random() < 0.4:
            quota["max"] = {"cpu": quota["min"]["cpu"] + self.dice.randint(2, 8)}
        if self.dice.random() < 0.3:
            quota["lendingLimit"] = {"cpu": self.dice.randint(0, quota["min"]["cpu"])}
        policy = self.dice.choice((None, None, None, "Hold"))
        when_spent = self.dice.choice((None, None, "NoBorrow", "NoStart"))
        budgets = [{"resource": "cpu", "hours": "0", "period": "Year", "whenSpent": when_spent}] if when_spent else None
        spec = {"quotas": [quota], "stopPolicy": policy, "budgets": budgets}
        # An edit that a rule refuses changes nothing.
        self._patch(f"{GROUPS}/{name}", {"spec": spec}, must=False)
        wait_for(lambda: self._budgets_are_spent(name), f"the budgets of {name} are spent", _TO_START)

    def _budgets_are_spent(self, name: str) -> bool:
        """Return whether the status says of each budget without hours that it is spent."""
        group = self.tree.request("GET", f"{GROUPS}/{name}")
        written = group["spec"].get("budgets", [])
        known = group.get("status", {}).get("budgets", [])
        spent = {each["whenSpent"] for each in known if "spentAt" in each}
        return {each["whenSpent"] for each in written if each["hours"] == "0"} <= spent

    def _resize(self) -> None:
        self._set_lost(0 if self.lost else self.dice.randint(2, SPARE_CPUS - 2))

    def _set_lost(self, cpus: int) -> None:
        """Let the spare node lack so many cpus; all of them: it is deleted with its pods."""
        if self.lost == SPARE_CPUS:
            self.tree.quotree.cluster.add_nodes([spare_node()])
        if cpus == SPARE_CPUS:
            self.tree.request("DELETE", f"{NODES}/{SPARE}")
        else:
            offer = {"cpu": str(SPARE_CPUS - cpus)}
            self._patch(f"{NODES}/{SPARE}/status", {"status": {"allocatable": offer, "capacity": offer}})
        self.returned += self.lost > 0 and cpus == 0
        self.lost = cpus

    def _cordon(self) -> None:
        self._patch(f"{NODES}/node-0", {"spec": {"unschedulable": self.dice.random() < 0.5 or None}})

    def _lose_or_return(self) -> None:
        self._set_lost(0 if self.lost else SPARE_CPUS)

    def _keep_full(self) -> None:
        """Take back what remedies have added, and let some Jobs wait."""
        for node in sorted(self.nodes):
            self.tree.request("DELETE", f"{NODES}/{node}")
        self.nodes.clear()
        while len(self._waiting()) < 4:
            self._add_job()
            self.tree.rest()

    def _waiting(self) -> list[str]:
        jobs = self.tree.jobs()
        return sorted(jobs.evictions.keys() - jobs.running)

    def _chosen(self) -> tuple[str, Json] | None:
        """Return a Job that waits and one of its remedies; one of a kind that was seldom chosen so far."""
        waiting = self._waiting()
        self.dice.shuffle(waiting)
        for job in waiting:
            found = self.tree.explain(job)["remedies"]
            usable = [each for each in found if not {each["do"], *_also(each)} & LEFT_OUT]
            if usable:
                kinds = sorted({_kind(each) for each in usable})
                self.dice.shuffle(kinds)
                kind = min(kinds, key=self.chosen.__getitem__)
                self.chosen[kind] += 1
                return job, self.dice.choice([each for each in usable if _kind(each) == kind])
        return None

    def _carried_out(self, job: str, remedy: Json) -> Tried:
        for each in remedy.get("and", ()):
            self._do(each)
            # Jobs, groups and nodes are watched apart: what is made at once is seen in any order.
            self.tree.rest()
        self._do(remedy)
        deadline, started = time.monotonic() + _TO_START, False
        while not started and time.monotonic() < deadline:
            jobs = self.tree.jobs()
            started = job in jobs.running
            time.sleep(0.1)
        says = "" if started else self.tree.explain(job)["message"]
        return Tried(job, remedy, bool(self.lost), started, says)

    def _do(self, remedy: Json) -> None:
        match remedy["do"]:
            case "RaiseMin" | "RaiseMax" | "RaiseLendingLimit":
                self._raise(remedy)
            case "RaiseBudget":
                self._raise_budget(remedy)
            case "AddCapacity":
                self._add_node(f"{remedy['by']}m")
            case "AddNode":
                for _ in range(remedy["by"]):
                    self._add_node(str(CPUS if remedy["like"] == "node-0" else SPARE_CPUS))
            case "WaitFor":
                self._end(remedy["workload"])
            case "Evict":
                self.tree.quotree.command("evict", remedy["workload"])
            case "AllowPreemption":
                self._label(remedy["workload"], "quotree.dev/preemptible")
            case "Resume" if "workload" in remedy:
                self._label(remedy["workload"], "quotree.dev/hold")
            case "Resume":
                self._patch(f"{GROUPS}/{remedy['group']}", {"spec": {"stopPolicy": None}})
            case other:
                raise AssertionError(other)

    def _raise(self, remedy: Json) -> None:
        limit = {"RaiseMin": "min", "RaiseMax": "max", "RaiseLendingLimit": "lendingLimit"}[remedy["do"]]
        group = self.tree.request("GET", f"{GROUPS}/{remedy['group']}")
        (quota,) = group["spec"]["quotas"]
        known = quota.get(limit, quota["min"] if limit == "lendingLimit" else {})
        raised = millicores(known.get("cpu", 0)) + remedy["by"]
        quota[limit] = {**known, "cpu": f"{raised}m"}
        self._patch(f"{GROUPS}/{remedy['group']}", {"spec": {"quotas": [quota]}})

    def _raise_budget(self, remedy: Json) -> None:
        """Write the hours that the remedy says into the budget that it names."""
        path = f"{GROUPS}/{remedy['group']}"
        budgets = self.tree.request("GET", path)["spec"]["budgets"]
        (spent,) = [each for each in budgets if each["whenSpent"] == remedy["whenSpent"]]
        spent["hours"] = remedy["hours"]
        self._patch(path, {"spec": {"budgets": budgets}})

    def _add_node(self, cpu: str) -> None:
        self.made += 1
        name = f"extra-{self.made}"
        self.nodes.add(name)
        self.tree.quotree.cluster.add_nodes([NodeSpec(name, allocatable={"cpu": cpu, "memory": "64Gi", "pods": "500"})])

    def _end(self, job: str) -> None:
        self.tree.request("DELETE", f"{JOBS}/{job.partition('/')[2]}?propagationPolicy=Background")

    def _label(self, job: str, label: str) -> None:
        self._patch(f"{JOBS}/{job.partition('/')[2]}", {"metadata": {"labels": {label: None}}})

    def _patch(self, path: str, body: Json, *, must: bool = True) -> None:
        self.tree.request("PATCH", path, body, MERGE, must=must)


def _also(remedy: Json) -> set[str]:
    return {each["do"] for each in remedy.get("and", ())}


def _kind(remedy: Json) -> str:
    """Return what the remedy does, with what it does before: `RaiseMax, AddCapacity`."""
    return ", ".join([*sorted(_also(remedy)), remedy["do"]])


def millicores(cpu: str | int) -> int:
    """Return an amount of cpu as the API server writes it in millicores."""
    text = str(cpu)
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


def spare_node() -> NodeSpec:
    """The node that is lost and comes back."""
    return NodeSpec(SPARE, allocatable={"cpu": str(SPARE_CPUS), "memory": "64Gi", "pods": "500"})


@contextmanager
def troubled_tree(programs: binaries.Binaries, seed: int) -> Iterator[TroubledTree]:
    """A live tree on two nodes, with 18 random Jobs; who loses capacity is asked at once."""
    with live_tree(programs, seed, more_nodes=[spare_node()], capacity={"lossGracePeriod": "0s"}) as tree:
        yield TroubledTree(tree, Random(seed))


def main() -> int:
    """Carry out that many remedies."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.remedies", description=__doc__)
    parser.add_argument("--remedies", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="after so many, the remedy that is being carried out is the last")
    options = parser.parse_args()
    ends = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    done: list[Tried] = []
    with troubled_tree(binaries.ensure(progress=print), options.seed) as troubled:
        for tried in troubled.remedies():
            done.append(tried)
            print(f"{len(done)}: {tried}", flush=True)
            if len(done) == options.remedies or (ends is not None and time.monotonic() > ends):
                break
        kinds = Counter(_kind(each.remedy) for each in done)
        while_lost = sum(each.while_lost for each in done)
        wrong = sum(not each.started for each in done)
        print(
            f"{len(done)} remedies ({'; '.join(f'{name} {number}' for name, number in sorted(kinds.items()))}), ",
            end="",
        )
        print(f"{while_lost} while capacity was lost, which returned {troubled.returned} times; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
