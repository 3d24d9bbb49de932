"""What a namespace says: its labels, which bring its work into quota or leave it out."""

from shared.api.core.metadata import Metadata
from shared.api.reading import View, reader


class Namespace(View, frozen=True):
    """A namespace."""

    metadata: Metadata = Metadata()


read_namespace = reader(Namespace)
