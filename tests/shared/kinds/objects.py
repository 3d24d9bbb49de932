"""Objects of governed kinds in a few words, for tests."""

from typing import Any

import msgspec
import yaml

from shared.kinds.descriptor import KindEntry
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject
from shared.kinds.presets import all_presets
from shared.kinds.reading import read_kind_object


def preset(kind: str) -> Kind:
    """The shipped kind with this word."""
    found = all_presets().named(kind)
    assert found is not None
    return found


def template(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A pod template whose one container requests so many CPUs."""
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def metadata(name: str = "train", **fields: Any) -> dict[str, Any]:
    """The metadata of an object in namespace ns."""
    return {"name": name, "namespace": "ns", "uid": f"uid-{name}", "generation": 1, **fields}


def jobset(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A JobSet of these replicated jobs."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata(),
        "spec": {"replicatedJobs": list(jobs), **spec},
    }


def replicated(name: str, cpu: str = "1", replicas: Any = None, **job: Any) -> dict[str, Any]:
    """One replicated job; `job`: parallelism and completions."""
    count = {} if replicas is None else {"replicas": replicas}
    return {"name": name, **count, "template": {"spec": {**job, "template": template(cpu)}}}


def pytorchjob(**replicas: dict[str, Any]) -> dict[str, Any]:
    """A PyTorchJob with these replica specs."""
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata(),
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def read(written: dict[str, Any]) -> KindObject:
    """Read it by the preset of its kind."""
    return read_kind_object(preset(written["kind"]), written)


def sizes(seen: KindObject) -> dict[str, int]:
    """The pods of each of its sets."""
    return {each.name: each.count for each in seen.pod_sets}


def entry(text: str) -> KindEntry:
    """A descriptor as it is written in the settings."""
    return msgspec.convert(yaml.safe_load(text), KindEntry)
