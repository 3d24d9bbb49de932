"""What a ResourceFlavor object says."""

from shared.api.conditions import Condition
from shared.api.core.metadata import QuotaMetadata
from shared.api.json.reading import View, reader


class TaintSpec(View, frozen=True):
    """A taint that the flavor's nodes carry."""

    key: str = ""
    value: str = ""
    effect: str = ""


class TolerationSpec(View, frozen=True):
    """A toleration that workloads get with the flavor. An absent operator means Equal."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ResourceFlavorSpec(View, frozen=True):
    """The spec of a ResourceFlavor, as a person writes it."""

    node_labels: dict[str, str] = {}
    node_taints: list[TaintSpec] = []
    tolerations: list[TolerationSpec] = []


class ResourceFlavorStatus(View, frozen=True):
    """What the reconciler writes."""

    conditions: list[Condition] = []


class ResourceFlavor(View, frozen=True):
    """A ResourceFlavor object."""

    metadata: QuotaMetadata = QuotaMetadata()
    spec: ResourceFlavorSpec = ResourceFlavorSpec()
    status: ResourceFlavorStatus = ResourceFlavorStatus()


read_resource_flavor = reader(ResourceFlavor)
