"""The kinds of visibility.quotree.dev/v1alpha1, and the columns that kubectl prints of each."""

from dataclasses import dataclass
from typing import Final

from reconciler.visibility.objects.schemas import (
    EXPLANATION_STATUS,
    GROUP_STATUS,
    PENDING_STATUS,
    START_PREVIEW_STATUS,
    WHAT_IF_STATUS,
)
from shared.api.api_service import VISIBILITY_GROUP, VISIBILITY_VERSION
from shared.json_data import Json
from shared.resources import write_quantity

GROUP: Final = VISIBILITY_GROUP
VERSION: Final = VISIBILITY_VERSION
API_VERSION: Final = f"{GROUP}/{VERSION}"
TABLE_TYPE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
VERBS: Final = ("get", "list", "watch")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column: its title, its type, the member of the status that it shows, and whether only `-o wide` prints it.

    Beside the types of Tables there is `forecast`, shown as its interval. `empty`: the value that is shown as an empty
    cell, as is a member that is absent.
    """

    title: str
    type: str
    member: str
    wide: bool = False
    empty: object = None


@dataclass(frozen=True, slots=True, eq=False)
class VisibleKind:
    """One resource of the API."""

    kind: str
    plural: str
    short: str
    namespaced: bool
    text: str
    status: Json
    columns: tuple[TableColumn, ...]
    verbs: tuple[str, ...] = VERBS

    @property
    def singular(self) -> str:
        """The singular resource name."""
        return self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of its list."""
        return f"{self.kind}List"


PENDING: Final = VisibleKind(
    "PendingWorkload",
    "pendingworkloads",
    "pw",
    namespaced=True,
    text="A workload that waits: its place in the queue of its group, and the limit that keeps it waiting.",
    status=PENDING_STATUS,
    columns=(
        TableColumn("Group", "string", "group"),
        TableColumn("Place", "integer", "position", empty=0),
        TableColumn("Reason", "string", "reason"),
        TableColumn("Missing", "string", "missing"),
        TableColumn("In", "string", "binding"),
        TableColumn("Age", "date", "queued"),
        TableColumn("Starts", "forecast", "forecast", wide=True),
        TableColumn("Message", "string", "message", wide=True),
    ),
)
EXPLANATION: Final = VisibleKind(
    "Explanation",
    "explanations",
    "expl",
    namespaced=True,
    text="Why a workload waits, who holds what it waits for, and what would let it start; of one that runs, since "
    "when, on which ground, and how it could be lost. A list has no remedies.",
    status=EXPLANATION_STATUS,
    columns=(
        TableColumn("Group", "string", "group"),
        TableColumn("State", "string", "state"),
        TableColumn("Place", "integer", "position", empty=0),
        TableColumn("Entitled", "boolean", "entitled"),
        TableColumn("Reason", "string", "reason"),
        TableColumn("Starts", "string", "startsAt"),
        TableColumn("Message", "string", "message", wide=True),
    ),
)
GROUPS: Final = VisibleKind(
    "GroupExplanation",
    "groupexplanations",
    "gexpl",
    namespaced=False,
    text="How a group comes to its runtime, step by step, and how many workloads wait below it. It names no workload.",
    status=GROUP_STATUS,
    columns=(
        TableColumn("Parent", "string", "parent"),
        TableColumn("Pending", "integer", "pending"),
        TableColumn("Admitted", "integer", "admitted"),
        TableColumn("Used", "string", "used"),
        TableColumn("Runtime", "string", "runtime"),
    ),
)
KINDS: Final = (PENDING, EXPLANATION, GROUPS)
WHAT_IF: Final = VisibleKind(
    "WhatIf",
    "whatifs",
    "wi",
    namespaced=False,
    text="What an edit of quota objects would start, stop and keep waiting, by group. Created with `spec.apply`, the "
    "objects as they would be, and `spec.delete`, those that would be gone; answered at once, and not stored.",
    status=WHAT_IF_STATUS,
    columns=(),
    verbs=("create",),
)
START_PREVIEW: Final = VisibleKind(
    "StartPreview",
    "startpreviews",
    "sp",
    namespaced=True,
    text="What would become of workloads if they were submitted now. Created with `spec.apply`, the objects as a "
    "server-side dry run returns them; answered at once, and not stored.",
    status=START_PREVIEW_STATUS,
    columns=(),
    verbs=("create",),
)
CREATED: Final = (WHAT_IF, START_PREVIEW)
"""The kinds whose objects are answered when they are created."""
ALL_KINDS: Final = (*KINDS, *CREATED)


def amount_text(resource: str, amount: int) -> str:
    """Return the formatted amount with its resource."""
    return f"{write_quantity(resource, amount)} {resource}"
