"""The manifests of Jobs that a case writes in one line each."""

from collections.abc import Iterable, Iterator

from cli.cases.case_file import ShortJob
from cli.read.manifests import Manifest, manifests_in
from shared.api.names import GROUP_LABEL
from shared.json_data import Json


def short_job_manifests(jobs: Iterable[ShortJob], file: str) -> list[Manifest]:
    """Return one manifest for each Job; `file`: where they are written."""
    return manifests_in((body for job in jobs for body in _bodies(job)), file)


def _bodies(job: ShortJob) -> Iterator[Json]:
    namespace, _, name = job.name.rpartition("/")
    names = [name] if job.count is None else [f"{name}-{number}" for number in range(1, job.count + 1)]
    container = {"name": "main", "image": "none", "resources": {"requests": dict(job.requests)}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    if job.priority_class_name:
        pod["priorityClassName"] = job.priority_class_name
    spec = {"parallelism": job.parallelism, "completions": job.parallelism, "template": {"spec": pod}}
    labels = {**job.labels, GROUP_LABEL: job.group}
    for each in names:
        metadata = {"name": each, "namespace": namespace or "default", "labels": labels}
        yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
