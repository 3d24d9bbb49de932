"""A PodGroup of kube-scheduler: pods that it places all or none. Quotree makes one for a started Job that asks for it.

See docs/specification.md §8.6.
"""

from shared.api.annotations import BadAnnotation, read_waiting
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.json.reading import Int32, View, reader
from shared.api.names import OWN_POD_GROUP, POD_GROUP_REFUSED


class Gang(View, frozen=True):
    """All or none: so many pods at least are placed together."""

    min_count: Int32 = 0


class SchedulingPolicy(View, frozen=True):
    """How its pods are placed; without a gang, one by one."""

    gang: Gang | None = None


class PodGroupSpec(View, frozen=True):
    """Its spec."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class PodGroup(View, frozen=True):
    """A PodGroup."""

    metadata: Metadata = Metadata()
    spec: PodGroupSpec = PodGroupSpec()


read_pod_group = reader(PodGroup)


def own_pod_group(spec: PodSpec) -> str:
    """Return the name of the PodGroup that Quotree makes for such pods; empty: none, or one of their owner's."""
    name = "" if spec.scheduling_group is None else spec.scheduling_group.pod_group_name
    return name if name.startswith(OWN_POD_GROUP) else ""


def pod_group_refusal(annotations: dict[str, str]) -> str:
    """Return why the PodGroup of a started Job was refused, as is written on the Job; empty: it was not."""
    try:
        found = read_waiting(annotations)
    except BadAnnotation:
        return ""
    return found.message if found is not None and found.reason == POD_GROUP_REFUSED else ""
