"""What running a pod costs beside its containers: the overhead of its RuntimeClass."""

from shared.api.core.metadata import Metadata
from shared.api.json.reading import ResourceList, View, reader


class Overhead(View, frozen=True):
    """The overhead of a RuntimeClass: what each pod of the class needs in addition."""

    pod_fixed: ResourceList = {}


class RuntimeClass(View, frozen=True):
    """A RuntimeClass."""

    metadata: Metadata = Metadata()
    overhead: Overhead = Overhead()


read_runtime_class = reader(RuntimeClass)
