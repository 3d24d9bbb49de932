"""The demo's story, step by step; every claim it makes is read back from the API server first."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import yaml

from demo import observe, organisation
from demo import slice as trace_slice
from demo.observe import Seen
from demo.terminal import Failed, Terminal
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import Quotree
from dev.openb import manifests
from dev.openb.manifests import GPU, PRIORITIES
from dev.openb.records import PodRecord

_JOBS: Final = 340
_BORROWERS: Final = 200
"""So many of the Jobs are research's; the rest is production's, which comes later."""
_APPLY: Final = ("apply", "--server-side", "-f", "-")
_SHOWN: Final = ("tree", f"--resource={GPU}", "--flavor=g2")
"""One flavor of seven keeps the tree on one screen."""
_RUN_FOR: Final = "demo.quotree.dev/run-for"
_BY_CLASS: Final = {manifests.priority_class_name(qos): value for qos, value in PRIORITIES.items()}


class Story:
    """One run of the demo on one cluster."""

    def __init__(self, cluster: ControlPlane, quotree: Quotree, terminal: Terminal) -> None:
        self._cluster = cluster
        self._quotree = quotree
        self._terminal = terminal
        self._nodes = trace_slice.nodes()
        self._pods = trace_slice.pods(_JOBS)

    def tell(self) -> None:
        """Run the whole story. Raises Failed when something was not observed."""
        self._apply_the_organisation()
        self._try_what_is_forbidden()
        self._let_research_borrow()
        self._let_production_return()
        self._let_all_finish()

    def _apply_the_organisation(self) -> None:
        self._terminal.chapter("The organisation")
        objects = [*organisation.flavors(self._nodes), *organisation.groups(self._nodes), *manifests.priority_classes()]
        self._kubectl_apply("organisation.yaml", objects)
        self._cluster.kubectl("create", "namespace", "research")
        self._cluster.kubectl("create", "namespace", "production")
        names = [place.name for place in organisation.PLACES]
        self._wait("every group is active", lambda: all(self._is_active(name) for name in names))
        self._terminal.observed(
            f"{len(names)} groups over {len(organisation.flavors(self._nodes))} GPU models are active"
        )
        self._show_tree()

    def _is_active(self, name: str) -> bool:
        conditions = observe.group_status(self._cluster, name).get("conditions", [])
        return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)

    def _try_what_is_forbidden(self) -> None:
        self._terminal.chapter("What is refused at once")
        by_name = {each["metadata"]["name"]: each for each in organisation.groups(self._nodes)}
        first = by_name["vision-train"]["spec"]["quotas"][0]["flavor"]
        cycle = _edited(by_name["research"], parent="vision")
        too_much = _edited(by_name["vision-eval"], quotas=[{"flavor": first, "min": {"cpu": "100000"}}])
        upside_down = _edited(by_name["ads"], quotas=[{"flavor": first, "min": {"cpu": "4"}, "max": {"cpu": "2"}}])
        self._refused("a cycle", cycle, "cycle.yaml", "Cycle")
        self._refused(
            "children promised more than their parent has", too_much, "too-much.yaml", "SumOfMinExceedsParent"
        )
        self._refused("a min above its max", upside_down, "upside-down.yaml", "min")
        job = manifests.job(self._pods[0], namespace="research", group="vision")
        self._refused("a Job that names an inner group", job, "job.yaml", "vision-train")

    def _refused(self, what: str, manifest: dict[str, Any], file: str, word: str) -> None:
        before = self._quota_objects()
        self._terminal.command(["kubectl", "apply", "--server-side", "-f", file])
        answer = self._cluster.kubectl(*_APPLY, input=yaml.safe_dump(manifest), check=False)
        self._terminal.answer(answer.stderr, lines=3)
        if answer.returncode == 0 or word not in answer.stderr:
            raise Failed(f"{what} was not refused with a message that says {word!r}")
        if self._quota_objects() != before:
            raise Failed(f"{what} was refused, and yet something was stored")
        self._terminal.observed(f"{what} is refused, nothing was stored")

    def _quota_objects(self) -> list[Any]:
        _, body = self._cluster.rest.request("GET", "/apis/quotree.dev/v1alpha1/quotagroups")
        return [(each["metadata"]["name"], each["spec"]) for each in body["items"]]

    def _let_research_borrow(self) -> None:
        self._terminal.chapter(f"Research submits {_BORROWERS} Jobs while production is idle")
        self._submit(self._pods[:_BORROWERS], "research", organisation.RESEARCH, seconds=(34, 50))
        self._wait("research borrows", lambda: self._borrowed_by("research") > 0)
        self._wait("the starts have settled", self._is_settled)
        seen = observe.jobs(self._cluster)
        started = [job for job in seen if job.started is not None]
        self._terminal.observed(f"{len(started)} Jobs were started, {len(seen) - len(started)} are held back")
        self._terminal.observed(f"research borrows {self._borrowed_by('research')} GPUs beyond its min")
        self._check_placement()
        self._nobody_starts_by_hand(seen)
        self._show_tree()

    def _borrowed_by(self, group: str) -> int:
        return observe.total(observe.group_status(self._cluster, group), "borrowed", GPU)

    def _used_by(self, group: str) -> int:
        return observe.total(observe.group_status(self._cluster, group), "used", GPU)

    def _is_settled(self) -> bool:
        first = {job.name: job.started for job in observe.jobs(self._cluster)}
        time.sleep(1.5)
        return first == {job.name: job.started for job in observe.jobs(self._cluster)}

    def _check_placement(self) -> None:
        count, wrong = observe.misplaced(self._cluster)
        if wrong or not count:
            raise Failed(wrong[0] if wrong else "no pod has a node")
        self._terminal.observed(f"all {count} pods are on nodes of their flavor, on a model they accept")

    def _nobody_starts_by_hand(self, seen: Sequence[Seen]) -> None:
        held = next((job for job in seen if job.held), None)
        if held is None:
            raise Failed("no Job is held, so borrowing has no bound here")
        patch = ["patch", "job", held.name, "-n", held.namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}']
        self._terminal.command(["kubectl", *patch])
        answer = self._cluster.kubectl(*patch, check=False)
        self._terminal.answer(answer.stderr)
        if answer.returncode == 0:
            raise Failed(f"{held.name} was started by hand")
        self._terminal.observed("a held Job cannot be started by hand")

    def _let_production_return(self) -> None:
        count = _JOBS - _BORROWERS
        self._terminal.chapter(f"Production comes back with {count} Jobs and wants its share")
        before = observe.jobs(self._cluster)
        self._submit(self._pods[_BORROWERS:], "production", organisation.PRODUCTION, seconds=(14, 26))
        self._wait("half of production's Jobs are started", lambda: self._started_of("production") >= count // 2)
        self._wait("production's use is in its status", lambda: self._used_by("production") > 0)
        started, used = self._started_of("production"), self._used_by("production")
        self._terminal.observed(f"{started} of them were started so far; production uses {used} GPUs again")
        self._show_tree()
        self._wait("the recycling has settled", self._is_settled)
        after = observe.jobs(self._cluster)
        victims = [job for job in after if job.evicted is not None]
        reasons = Counter(job.reason for job in victims)
        classes = Counter(job.priority_class for job in victims)
        self._terminal.observed(f"{len(victims)} Jobs were recycled ({_counts(reasons)}; {_counts(classes)})")
        unfair = observe.unfair_victims(before, after, _BY_CLASS)
        if unfair:
            raise Failed(unfair[0])
        self._terminal.observed("lowest priority first: no victim could have been spared by a less important Job")
        self._check_placement()

    def _started_of(self, namespace: str) -> int:
        return sum(job.namespace == namespace and job.started is not None for job in observe.jobs(self._cluster))

    def _victims(self) -> list[Seen]:
        return [job for job in observe.jobs(self._cluster) if job.evicted is not None]

    def _let_all_finish(self) -> None:
        self._terminal.chapter("The recycled Jobs start again, and everything finishes")
        victims = {job.name: job.evicted for job in self._victims()}
        self._wait("all Jobs are finished", lambda: all(job.finished for job in observe.jobs(self._cluster)), 150)
        seen = observe.jobs(self._cluster)
        failed = [job.name for job in seen if job.failed]
        again = [job for job in seen if job.name in victims and _restarted(job, victims[job.name])]
        meanwhile = [job for job in seen if job.name in victims and job.held]
        if failed or len(seen) != _JOBS or not again or len(again) + len(meanwhile) != len(victims):
            raise Failed(f"of {len(seen)} Jobs {len(failed)} failed, {len(again)} of {len(victims)} victims ran again")
        self._terminal.observed(f"all {_JOBS} Jobs are complete, {len(again)} of the recycled ones after a new start")
        if meanwhile:
            self._terminal.note(f"({len(meanwhile)} had just ended by themselves when they were to stop)")
        self._wait("all quota is free again", lambda: not any(self._used_by(name) for name in ("root", "research")))
        self._show_tree("--depth=1")

    def _submit(
        self, pods: Sequence[PodRecord], namespace: str, leaves: Sequence[str], *, seconds: tuple[int, int]
    ) -> None:
        jobs = [
            manifests.job(
                record,
                namespace=namespace,
                group=leaves[index % len(leaves)],
                annotations={_RUN_FOR: f"{_compressed(record, seconds)}s"},
            )
            for index, record in enumerate(pods)
        ]
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        for job in jobs:
            status, body = self._cluster.rest.request("POST", path, job)
            if status != 201:
                raise Failed(f"Job {job['metadata']['name']} was refused: {body.get('message', status)}")
        self._terminal.observed(f"{len(jobs)} Jobs were accepted")

    def _kubectl_apply(self, file: str, objects: Sequence[dict[str, Any]]) -> None:
        self._terminal.command(["kubectl", "apply", "--server-side", "-f", file])
        self._terminal.answer(self._cluster.kubectl(*_APPLY, input=yaml.safe_dump_all(objects)).stdout)

    def _show_tree(self, *flags: str) -> None:
        words = [*_SHOWN, *flags]
        self._terminal.command(["kubectl", "quotree", *words])
        self._terminal.answer(self._quotree.command(*words))

    def _wait(self, what: str, seen: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > deadline:
                raise Failed(f"not seen within {seconds:.0f} s: {what}")
            time.sleep(0.3)


def _edited(group: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**group, "spec": {**group["spec"], **spec}}


def _compressed(record: PodRecord, bounds: tuple[int, int]) -> int:
    """Return the trace's run time, two minutes to a second, within bounds."""
    return max(bounds[0], min(bounds[1], record.ran_for // 120))


def _restarted(job: Seen, evicted: datetime | None) -> bool:
    return job.started is not None and evicted is not None and job.started > evicted


def _counts(counter: Counter[Any]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counter.most_common())
