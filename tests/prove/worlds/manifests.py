"""A closed world as manifests that `quotree simulate -f` runs, and back, so that what was found stays found.

What manifests cannot say (what happens later, and the settings) is in a ConfigMap that `simulate` passes over: it runs
the world as it is in cycle 0, with everything that ever arrives already there.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import yaml

from shared.api.annotations import split
from shared.api.names import MAX_RUN_TIME
from shared.percents import is_percent, read_percent, write_percent
from shared.quota.model.settings import (
    BlockAdmission,
    QueueAge,
    QuotaSettings,
    ReclaimMode,
    ReclaimSettings,
    StartupSettings,
)
from shared.quota.model.tree import (
    ROOT,
    WRITTEN,
    Amounts,
    Entry,
    Group,
    Preemption,
    QueueingStrategy,
    QueueOrder,
    ReclaimOverrides,
    StopPolicy,
    Tree,
    WhenCanBorrow,
    WhenCanReclaim,
)
from shared.quota.model.workload import Admission, PodSet, Workload
from shared.resources import FlavorResource, read_amount, write_quantity
from tests.builders import in_main
from tests.prove.worlds.timed_manifests import read_timed, write_timed
from tests.prove.worlds.world import ClosedWorld, Edit, Life, Loss, Resize

Manifest = dict[str, Any]
DURATIONS = {
    "grace_period": "gracePeriod",
    "notice": "notice",
    "exempt_after_start": "exemptAfterStart",
    "claim_timeout": "claimTimeout",
}


def write_world(world: ClosedWorld, comment: str) -> str:
    """The world as YAML, the comment on top."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + yaml.safe_dump_all(list(_manifests(world)), sort_keys=False, width=120)


def _manifests(world: ClosedWorld) -> Iterator[Manifest]:
    reclaim = world.settings.reclaim
    story = {
        "mode": reclaim.mode.value,
        **{text: _seconds(getattr(reclaim, name)) for name, text in DURATIONS.items()},
        "queueAge": world.settings.queue_age.value,
        "startup": _startup(world.settings.startup),
        "lives": [
            {
                "name": life.work.key,
                "arrives": life.arrives,
                "leaves": life.leaves,
                "stopsIn": life.stops_in,
                "readyIn": life.ready_in,
                "answeredIn": life.answered_in,
                "reordered": life.reordered and list(life.reordered),
                "pods": life.work.pods,
                "podSets": [
                    {"name": each.name, "pods": each.pods, "request": _write(each.request)}
                    for each in life.work.pod_sets
                ],
            }
            for life in world.lives
        ],
        "losses": [{"at": loss.at, "key": list(loss.key), "left": loss.left} for loss in world.losses],
        "edits": [{"at": edit.at, "group": _group(edit.group)} for edit in world.edits],
        "sizes": {flavor: [_write(each) for each in sizes] for flavor, sizes in world.sizes.items()},
        "resizes": [
            {"at": each.at, "flavor": each.flavor, "sizes": [_write(size) for size in each.sizes]}
            for each in world.resizes
        ],
    }
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "story"},
        "data": {"story": yaml.safe_dump(story, sort_keys=False)},
    }
    for flavor in world.flavors:
        yield _object("quotree.dev/v1alpha1", "ResourceFlavor", flavor.name, {"nodeLabels": {"flavor": flavor.name}})
        yield _node(world, flavor.name)
    for priority in sorted({life.work.priority for life in world.lives if life.work.priority}):
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"p{priority}"},
            "value": priority,
        }
    yield from (_group(group) for name, group in world.tree.groups.items() if name != ROOT)
    yield from (_job(life.work) for life in world.lives)


def _object(version: str, kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _node(world: ClosedWorld, flavor: str) -> Manifest:
    amounts = {key.resource: amount for key, amount in world.capacity.items() if key.flavor == flavor}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{flavor}", "labels": {"flavor": flavor}},
        "status": {"allocatable": _write(amounts), "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _write(amounts: Amounts) -> dict[str, str]:
    return {resource: write_quantity(resource, amount) for resource, amount in amounts.items()}


def _write_limit(entry: Entry, limit: str) -> dict[str, str]:
    percents = entry.percents.get(limit, {})
    amounts = {name: amount for name, amount in getattr(entry, limit).items() if name not in percents}
    return _write(amounts) | {name: write_percent(percent) for name, percent in percents.items()}


def _read(quantities: Mapping[str, str] | None) -> dict[str, int]:
    return {resource: read_amount(resource, text) for resource, text in (quantities or {}).items()}


def _write_entry(entry: Entry) -> Manifest:
    limits = {text: _write_limit(entry, name) for name, text in WRITTEN.items() if entry.named(name)}
    return {"flavor": entry.flavor} | limits


def _group(group: Group) -> Manifest:
    spec = {
        "parent": group.parent,
        "isParent": group.is_parent,
        "quotas": [_write_entry(entry) for entry in group.quotas],
        "allowLending": group.allow_lending,
        "flavorFungibility": {
            "whenCanBorrow": group.when_can_borrow.value,
            "whenCanReclaim": group.when_can_reclaim.value,
        },
        "preemption": {"withinGroup": group.preemption.value},
        "queueing": {"strategy": group.queueing.value} | _patience(group) | _order(group),
        "stopPolicy": group.stop_policy.value,
        "reclaim": _overrides(group.reclaim),
    } | _run_time(group)
    spec |= write_timed(group, _write_entry)
    return _object("quotree.dev/v1alpha1", "QuotaGroup", group.name, spec)


def _job(work: Workload) -> Manifest:
    namespace, name = work.key.split("/")
    labels = {"quotree.dev/group": work.group}
    if not work.preemptible:
        labels["quotree.dev/preemptible"] = "false"
    if work.only_flavor is not None:
        labels["quotree.dev/flavor"] = work.only_flavor
    metadata: Manifest = {
        "name": name,
        "namespace": namespace,
        "uid": work.uid,
        "creationTimestamp": _time(work.created),
        "labels": labels,
    }
    if work.admission is not None:
        flavors, pod_sets = split(work.admission.flavors)
        held = {"flavors": flavors or {}, "podSets": pod_sets, "time": work.admission.since.isoformat()}
        metadata["annotations"] = {"quotree.dev/admission": json.dumps(held)}
    if work.user:
        metadata.setdefault("annotations", {})["quotree.dev/user"] = work.user
    if work.max_run_time is not None:
        metadata.setdefault("annotations", {})[MAX_RUN_TIME] = _seconds(work.max_run_time)
    pod: Manifest = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "work", "resources": {"requests": _write(work.request)}}],
    }
    if work.priority:
        pod["priorityClassName"] = f"p{work.priority}"
    spec = {"suspend": work.admission is None, "parallelism": 1, "completions": 1, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_world(text: str) -> ClosedWorld:
    """The world that `write_world` wrote."""
    manifests = list(yaml.safe_load_all(text))

    def of(kind: str) -> list[Manifest]:
        return [each for each in manifests if each["kind"] == kind]

    story = yaml.safe_load(of("ConfigMap")[0]["data"]["story"])
    jobs = {f"{job['metadata']['namespace']}/{job['metadata']['name']}": job for job in of("Job")}
    lives = (
        Life(
            replace(
                _read_job(each["name"], jobs[each["name"]]),
                pods=each.get("pods", 1),
                pod_sets=tuple(
                    PodSet(own["name"], _read(own["request"]), own["pods"]) for own in each.get("podSets", ())
                ),
            ),
            each["arrives"],
            each["leaves"],
            each["stopsIn"],
            each["readyIn"],
            each.get("answeredIn", 1),
            reordered=each.get("reordered") and tuple(each["reordered"]),
        )
        for each in story["lives"]
    )
    return ClosedWorld(
        tree=Tree.of(_read_group(each) for each in of("QuotaGroup")),
        capacity={
            FlavorResource(node["metadata"]["labels"]["flavor"], resource): amount
            for node in of("Node")
            for resource, amount in _read(node["status"]["allocatable"]).items()
        },
        lives=tuple(lives),
        settings=_read_settings(story),
        losses=tuple(Loss(each["at"], FlavorResource(*each["key"]), each["left"]) for each in story["losses"]),
        edits=tuple(Edit(each["at"], _read_group(each["group"])) for each in story["edits"]),
        sizes={flavor: tuple(map(_read, sizes)) for flavor, sizes in story.get("sizes", {}).items()},
        resizes=tuple(
            Resize(each["at"], each["flavor"], tuple(map(_read, each["sizes"]))) for each in story.get("resizes", ())
        ),
    )


def _read_settings(story: Manifest) -> QuotaSettings:
    durations: dict[str, Any] = {name: _duration(story[text]) for name, text in DURATIONS.items()}
    reclaim = ReclaimSettings(mode=ReclaimMode(story["mode"]), **durations)
    startup = _read_startup(story["startup"])
    return QuotaSettings(reclaim=reclaim, startup=startup, queue_age=QueueAge(story["queueAge"]))


def _startup(settings: StartupSettings) -> Manifest | None:
    if not settings.wait_for_pods_ready:
        return None
    return {
        "blockAdmission": settings.block_admission.value,
        "timeout": _seconds(settings.timeout),
        "backoffBase": _seconds(settings.backoff_base),
        "backoffMax": _seconds(settings.backoff_max),
        "limit": settings.limit,
    }


def _read_startup(written: Manifest | None) -> StartupSettings:
    if written is None:
        return StartupSettings()
    return StartupSettings(
        wait_for_pods_ready=True,
        block_admission=BlockAdmission(written["blockAdmission"]),
        timeout=_duration(written["timeout"]),
        backoff_base=_duration(written["backoffBase"]),
        backoff_max=_duration(written["backoffMax"]),
        limit=written["limit"],
    )


def _overrides(overrides: ReclaimOverrides) -> Manifest:
    mode = {} if overrides.mode is None else {"mode": overrides.mode.value}
    given = {text: getattr(overrides, name) for name, text in DURATIONS.items()}
    return mode | {text: _seconds(duration) for text, duration in given.items() if duration is not None}


def _read_overrides(written: Manifest) -> ReclaimOverrides:
    durations = {name: _duration(written[text]) for name, text in DURATIONS.items() if text in written}
    return ReclaimOverrides(mode=ReclaimMode(written["mode"]) if "mode" in written else None, **durations)


def _run_time(group: Group) -> Manifest:
    return {} if group.max_run_time is None else {"maxRunTime": _seconds(group.max_run_time)}


def _read_run_time(written: Mapping[str, str], name: str) -> timedelta | None:
    return _duration(written[name]) if name in written else None


def _patience(group: Group) -> Manifest:
    return {} if group.patience is None else {"patience": _seconds(group.patience)}


def _order(group: Group) -> Manifest:
    weights = {name: f"{weight}m" for name, weight in group.order_weights.items()}
    return {} if group.order is QueueOrder.AGE else {"order": group.order.value, "weights": weights}


def _read_weights(written: Manifest) -> dict[str, int]:
    return {name: int(text.removesuffix("m")) for name, text in written.get("weights", {}).items()}


def _read_patience(written: Manifest) -> timedelta | None:
    return _duration(written["patience"]) if "patience" in written else None


def _seconds(duration: timedelta) -> str:
    return f"{int(duration.total_seconds())}s"


def _duration(text: str) -> timedelta:
    return timedelta(seconds=int(text.removesuffix("s")))


def _read_group(manifest: Manifest) -> Group:
    spec = manifest["spec"]
    entries = (_read_entry(each) for each in spec["quotas"])
    overrides, windows = read_timed(spec)
    return Group(
        manifest["metadata"]["name"],
        parent=spec["parent"],
        is_parent=spec["isParent"],
        quotas=tuple(entries),
        allow_lending=spec["allowLending"],
        queueing=QueueingStrategy(spec["queueing"]["strategy"]),
        patience=_read_patience(spec["queueing"]),
        order=QueueOrder(spec["queueing"].get("order", "Age")),
        order_weights=_read_weights(spec["queueing"]),
        when_can_borrow=WhenCanBorrow(spec["flavorFungibility"]["whenCanBorrow"]),
        when_can_reclaim=WhenCanReclaim(spec["flavorFungibility"]["whenCanReclaim"]),
        preemption=Preemption(spec["preemption"]["withinGroup"]),
        stop_policy=StopPolicy(spec["stopPolicy"]),
        reclaim=_read_overrides(spec["reclaim"]),
        max_run_time=_read_run_time(spec, "maxRunTime"),
        overrides=overrides,
        windows=windows,
    )


def _read_entry(manifest: Manifest) -> Entry:
    limits: dict[str, Any] = {}
    percents: dict[str, dict[str, int]] = {}
    for name, text in WRITTEN.items():
        written = manifest.get(text, {})
        limits[name] = _read({resource: each for resource, each in written.items() if not is_percent(each)})
        shares = {resource: read_percent(each) for resource, each in written.items() if is_percent(each)}
        if shares:
            percents[name] = shares
    return Entry(manifest["flavor"], percents=percents, **limits)


def _read_job(key: str, manifest: Manifest) -> Workload:
    metadata, pod = manifest["metadata"], manifest["spec"]["template"]["spec"]
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    note = metadata.get("annotations", {}).get("quotree.dev/admission")
    admission = None
    if note is not None:
        held = json.loads(note)
        flavors = held.get("podSets") or in_main(held["flavors"])
        admission = Admission(flavors, datetime.fromisoformat(held["time"]), ready=True, was_ready=True)
    return Workload(
        key=key,
        uid=metadata["uid"],
        group=metadata["labels"]["quotree.dev/group"],
        request=_read(pod["containers"][0]["resources"]["requests"]),
        created=created,
        queued=created,
        priority=int(pod.get("priorityClassName", "p0")[1:]),
        preemptible=metadata["labels"].get("quotree.dev/preemptible") != "false",
        only_flavor=metadata["labels"].get("quotree.dev/flavor"),
        user=metadata.get("annotations", {}).get("quotree.dev/user", ""),
        max_run_time=_read_run_time(metadata.get("annotations", {}), MAX_RUN_TIME),
        admission=admission,
    )
