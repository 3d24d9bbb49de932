"""Workloads of Volcano: its own Jobs as batch Jobs or JobSets, and others that name a queue or its scheduler."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from cli.convert.conversion import Conversion, as_written, read_object
from cli.convert.queued_workloads import Dialect, convert_workloads, names_no_queue, workloads_of
from cli.convert.workload_labels import note_governing
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import View, reader
from shared.api.names import GROUP_LABEL

BATCH: Final = "batch.volcano.sh/"
DEFAULT_QUEUE: Final = "default"
DIALECT: Final = Dialect(
    queue_keys=("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"),
    prefixes=("scheduling.volcano.sh/", "volcano.sh/", "scheduling.k8s.io/group-name"),
    schedulers=frozenset({"volcano"}),
)
_JOB_SET: Final = "jobset.x-k8s.io/v1alpha2"
_RETRIES: Final = 3
"""The `maxRetry` of a Job that has none."""
_CARRIED: Final = (
    "queue",
    "schedulerName",
    "tasks",
    "minAvailable",
    "maxRetry",
    "priorityClassName",
    "ttlSecondsAfterFinished",
)
_OF_CRON_JOBS: Final = (
    "schedule",
    "timeZone",
    "concurrencyPolicy",
    "startingDeadlineSeconds",
    "suspend",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
)


class _Task(View, frozen=True):
    name: str = ""
    replicas: int = 1
    template: dict[str, Any] = {}


class _Spec(View, frozen=True):
    queue: str = ""
    tasks: list[_Task] = []
    min_available: int | None = None
    max_retry: int = _RETRIES
    priority_class_name: str = ""
    ttl_seconds_after_finished: int | None = None


class _Job(View, frozen=True):
    spec: _Spec = _Spec()


_read = reader(_Job)


class VolcanoWorkloads:
    """The workloads in the files that Volcano schedules."""

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        own = [each for each in manifests if each.api_version.startswith(BATCH)]
        check_unique(own)
        self._jobs = [each for each in own if each.kind in ("Job", "CronJob")]
        self._without_counterpart = [each for each in own if each not in self._jobs]
        self._others = workloads_of(DIALECT, [each for each in manifests if each not in own])

    def users_of_default(self) -> list[Manifest]:
        """Return the workloads that name the queue `default`, or none, which means the same."""
        named = [each for each in self._jobs if _job_spec(each).get("queue", DEFAULT_QUEUE) == DEFAULT_QUEUE]
        return [*named, *(each for each in self._others if names_no_queue(DIALECT, each))]

    def convert(self, groups: Mapping[str, str], made: Conversion) -> None:
        """Add them with the labels of their groups, and note what has no counterpart."""
        for manifest in self._jobs:
            self._convert_job(manifest, groups, made)
        convert_workloads(DIALECT, self._others, groups, groups.get(DEFAULT_QUEUE), made)
        for manifest in self._without_counterpart:
            made.note(manifest, "", "has no counterpart and is left out")

    def _convert_job(self, manifest: Manifest, groups: Mapping[str, str], made: Conversion) -> None:
        within = "spec" if manifest.kind == "Job" else "spec.jobTemplate.spec"
        written = _job_spec(manifest)
        spec = read_object(lambda body: _read({"spec": _job_spec_in(body)}), manifest).spec
        group = groups.get(spec.queue or DEFAULT_QUEUE)
        if group is None:
            made.note(manifest, f"{within}.queue", f"queue {spec.queue} is not in the files; left out")
            return
        if not spec.tasks or (manifest.kind == "CronJob" and len(spec.tasks) > 1):
            made.note(manifest, f"{within}.tasks", "are not those of one batch Job; left out")
            return
        self._note_differences(manifest, within, written, spec, made)
        made.workloads.append(_written_job(manifest, spec, group, made))

    def _note_differences(
        self, manifest: Manifest, within: str, written: Mapping[str, Any], spec: _Spec, made: Conversion
    ) -> None:
        pods = sum(each.replicas for each in spec.tasks)
        if spec.min_available is not None and spec.min_available < pods:
            text = f"is {spec.min_available}: all {pods} pods start together, or none does"
            made.note(manifest, f"{within}.minAvailable", text)
        for name in sorted(written.keys() - set(_CARRIED)):
            made.note(manifest, f"{within}.{name}", "has no counterpart and is left out")


def _job_spec_in(body: Mapping[str, Any]) -> Any:
    spec = body.get("spec") or {}
    return spec if body["kind"] == "Job" else (spec.get("jobTemplate") or {}).get("spec") or {}


def _job_spec(manifest: Manifest) -> dict[str, Any]:
    found: Any = _job_spec_in(manifest.body)
    return found if isinstance(found, dict) else {}


def _written_job(manifest: Manifest, spec: _Spec, group: str, made: Conversion) -> dict[str, Any]:
    """Return a Job for one task, a JobSet for several, or a CronJob of Jobs."""
    head = as_written(manifest)
    metadata = {**head["metadata"], "labels": {**(head["metadata"].get("labels") or {}), GROUP_LABEL: group}}
    specs = [_batch_spec(each, spec) for each in spec.tasks]
    if manifest.kind == "CronJob":
        kept = {name: value for name, value in head["spec"].items() if name in _OF_CRON_JOBS}
        template = {"metadata": {"labels": {GROUP_LABEL: group}}, "spec": specs[0]}
        return {
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": head["metadata"],
            "spec": {**kept, "jobTemplate": template},
        }  # fmt: skip
    if len(specs) == 1:
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": specs[0]}
    jobs = [
        {"name": task.name or f"task-{at}", "replicas": 1, "template": {"spec": each}}
        for at, (task, each) in enumerate(zip(spec.tasks, specs, strict=True))
    ]
    note_governing(replace(manifest, api_version=_JOB_SET, kind="JobSet"), made)
    return {"apiVersion": _JOB_SET, "kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def _batch_spec(task: _Task, spec: _Spec) -> dict[str, Any]:
    template = deepcopy(task.template)
    pods = template.setdefault("spec", {})
    if pods.get("schedulerName") in DIALECT.schedulers:
        del pods["schedulerName"]
    pods.setdefault("restartPolicy", "OnFailure")
    if spec.priority_class_name:
        pods.setdefault("priorityClassName", spec.priority_class_name)
    found: dict[str, Any] = {"parallelism": task.replicas, "completions": task.replicas, "backoffLimit": spec.max_retry}
    if spec.ttl_seconds_after_finished is not None:
        found["ttlSecondsAfterFinished"] = spec.ttl_seconds_after_finished
    return {**found, "template": {key: value for key, value in template.items() if key in ("metadata", "spec")}}
