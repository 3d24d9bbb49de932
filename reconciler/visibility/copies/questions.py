"""The protocol between the serving process and a copy. Pure.

A question is one JSON document. The answer is lines: for a list, each an object; for one explanation or a prediction,
each a better answer than the one before; for forecasts one line, by namespace and name. An empty line ends the answer.
"""

from typing import Final

import msgspec

from reconciler.visibility.objects.kinds import KINDS
from reconciler.visibility.objects.selection import Selection
from shared.api.group_selector import ALL_GROUPS, GroupSelector

MAKE_COPY: Final = b"c"
"""Sent to the reconciler, with the channel of the new copy."""
COUNTED: Final = b"m"
"""Sent to the reconciler, with metrics in Prometheus' text format."""
ASK: Final = b"q"
"""Sent to a copy, with the socket of the question."""
END: Final = b""
"""The last line of a whole answer."""
FAILED: Final = b"!"
"""The last line of an answer that ended with an exception."""
_BY_PLURAL: Final = {kind.plural: kind for kind in KINDS}


class CopyQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which objects are requested; with the spec of a WhatIf, what that edit would change; with that of a StartPreview,
    what would become of its workloads; `forecasts`: when all that waits will start.
    """

    plural: str = ""
    namespace: str = ""
    name: str = ""
    groups: GroupSelector = ALL_GROUPS
    in_whole_cluster: bool = False
    edit: str = ""
    submitted: str = ""
    forecasts: bool = False

    @property
    def selection(self) -> Selection:
        """The same as the server's selection."""
        return Selection(_BY_PLURAL[self.plural], self.namespace, self.name, self.groups, self.in_whole_cluster)


def question_of(selection: Selection) -> CopyQuestion:
    """Return the question for these objects."""
    return CopyQuestion(
        selection.kind.plural, selection.namespace, selection.name, selection.groups, selection.in_whole_cluster
    )


write_question: Final = msgspec.json.Encoder().encode
read_question: Final = msgspec.json.Decoder(CopyQuestion).decode
