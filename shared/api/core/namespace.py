"""What a namespace says: its labels, which decide whether its workloads are managed."""

from shared.api.core.metadata import Metadata
from shared.api.json.reading import View, reader


class Namespace(View, frozen=True):
    """A namespace."""

    metadata: Metadata = Metadata()


read_namespace = reader(Namespace)
