"""LocalQueues: which group each stands for, and which namespaces may use that group."""

from collections.abc import Iterable, Mapping
from typing import Final

from cli.convert.conversion import Conversion, read_object, where
from cli.convert.kueue.objects import read_local_queue
from cli.read.manifests import Manifest
from shared.problems import Problem
from shared.resources import QuantityError, parse_number

DEFAULT_QUEUE: Final = "default"
"""The LocalQueue of workloads that name none."""


class LocalQueues:
    """Which group a LocalQueue stands for: by namespace and name."""

    def __init__(self, manifests: Iterable[Manifest], groups: Mapping[str, str], made: Conversion) -> None:
        self._groups: dict[tuple[str, str], str] = {}
        self._namespaces: dict[str, set[str]] = {}
        self._weights: dict[str, dict[str, str]] = {}
        """ClusterQueue -> namespace -> the weight of its LocalQueue."""
        for manifest in manifests:
            namespace = manifest.namespace or "default"
            spec = read_object(read_local_queue, manifest).spec
            group = groups.get(spec.cluster_queue)
            if group is None:
                made.note(manifest, "spec.clusterQueue", f"{spec.cluster_queue} is not in the files; left out")
                continue
            self._groups[namespace, manifest.name] = group
            made.queue_groups[f"{namespace}/{manifest.name}"] = group
            self._namespaces.setdefault(spec.cluster_queue, set()).add(namespace)
            if manifest.name == DEFAULT_QUEUE:
                made.label_namespace(namespace, group)
            if spec.stop_policy != "None":
                made.note(manifest, "spec.stopPolicy", f"{spec.stop_policy} has no counterpart for one namespace")
            if spec.fair_sharing is not None:
                self._add_weight(manifest, spec.cluster_queue, str(spec.fair_sharing.weight), made)
            made.note_left_out(manifest, ("clusterQueue", "stopPolicy", "fairSharing"))

    def _add_weight(self, manifest: Manifest, cluster_queue: str, weight: str, made: Conversion) -> None:
        """Add the weight of the LocalQueue's namespace. Raises Problem when it is no number."""
        try:
            parse_number(weight)
        except QuantityError as error:
            raise Problem(f"{where(manifest, 'spec.fairSharing.weight')}: {error}") from error
        namespace = manifest.namespace or "default"
        own = self._weights.setdefault(cluster_queue, {})
        if own.setdefault(namespace, weight) != weight:
            text = f"{weight} is left out: namespace {namespace} has weight {own[namespace]} by another LocalQueue"
            made.note(manifest, "spec.fairSharing.weight", text)

    def namespaces_of(self, cluster_queue: str) -> set[str]:
        """Return the namespaces that have a LocalQueue of a ClusterQueue."""
        return self._namespaces.get(cluster_queue, set())

    def weights_of(self, cluster_queue: str) -> dict[str, str]:
        """Return the weights of namespaces in a ClusterQueue, by those of their LocalQueues."""
        return dict(sorted(self._weights.get(cluster_queue, {}).items()))

    def group_of(self, namespace: str, name: str) -> str | None:
        """Return the group of a LocalQueue, or None when it is not in the files."""
        return self._groups.get((namespace, name))
