"""The schema of a ResourceFlavor, with the rules about one object."""

from typing import Any, Final

from shared.api.crds.parts import (
    LABEL_VALUE,
    MAX_CONDITIONS,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_NAME,
    RESOURCE_NAME,
    Schema,
    condition,
    label_key_rule,
    labels,
    listing,
    number,
    record,
    rule,
    text,
    word,
)
from shared.api.names import COUNTS

COLUMNS: Final = (
    ("Labels", ".spec.nodeLabels", "string", 0),
    ("Has nodes", '.status.conditions[?(@.type=="HasNodes")].status', "string", 0),
    ("Age", ".metadata.creationTimestamp", "date", 0),
)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def flavor_schema() -> Schema:
    """Return the whole object."""
    return record(
        "A kind of capacity: which nodes have it, and what workloads need to run on them.",
        {
            "apiVersion": text("quotree.dev/v1alpha1"),
            "kind": text("ResourceFlavor"),
            "metadata": {"type": "object"},
            "spec": record(
                "Which nodes, and how workloads get there.",
                {"nodeLabels": _node_labels(), "nodeTaints": _node_taints(), "tolerations": _tolerations()},
            ),
            "status": record(
                "What is true now; only the reconciler writes it.",
                {"conditions": listing("HasNodes.", condition("HasNodes."), MAX_CONDITIONS, key=("type",))},
            ),
        },
        rule(
            "BadName",
            f"size(self.metadata.name) <= {MAX_NAME}",
            f"a flavor's name is a label value: at most {MAX_NAME} characters",
        ),
        rule(
            "BadName",
            f"self.metadata.name != '{COUNTS}'",
            f"{COUNTS} stands for the flavor of pods and workloads, which have none; choose another name",
        ),
    )


def _node_labels() -> Schema:
    return labels(
        "Labels of the flavor's nodes; none: every node that no other flavor has.",
        MAX_ENTRIES,
        label_key_rule("BadNodeLabel", "accelerator or example.com/model"),
    )


def _node_taints() -> Schema:
    taint = record(
        "A taint of the flavor's nodes.",
        {
            "key": text("The taint's key.", minLength=1, maxLength=MAX_KEY, pattern=RESOURCE_NAME),
            "value": {**text("The taint's value.", maxLength=MAX_NAME, pattern=LABEL_VALUE), "default": ""},
            "effect": word("What it does to pods that do not tolerate it.", *_EFFECTS),
        },
        required=("key", "effect"),
    )
    return listing("A workload must tolerate these to get the flavor.", taint, MAX_ENTRIES, key=("key", "effect"))


def _tolerations() -> Schema:
    toleration = record(
        "A toleration.",
        {
            "key": text("The taint's key; empty with Exists: every taint.", maxLength=MAX_KEY),
            "operator": word("Exists or Equal; absent: Equal.", "Exists", "Equal"),
            "value": text("The taint's value, for Equal.", maxLength=MAX_NAME, pattern=LABEL_VALUE),
            "effect": word("Absent: every effect.", "", *_EFFECTS),
            "tolerationSeconds": {**number("How long NoExecute is tolerated."), "format": "int64"},
        },
        rule(
            "BadToleration",
            "(has(self.key) && self.key != '') || (has(self.operator) && self.operator == 'Exists')",
            "a toleration without key tolerates every taint; give it operator: Exists, or a key",
        ),
        rule(
            "BadToleration",
            "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
            "operator Exists takes no value; take value out",
        ),
        rule(
            "BadToleration",
            "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            "tolerationSeconds needs effect: NoExecute",
        ),
    )
    return listing("Added to workloads that get the flavor.", toleration, MAX_ENTRIES)


def flavor_names() -> dict[str, Any]:
    """Return the names of the kind, as in a CRD's spec.names."""
    return {
        "kind": "ResourceFlavor",
        "listKind": "ResourceFlavorList",
        "plural": "resourceflavors",
        "singular": "resourceflavor",
        "shortNames": ["rf"],
        "categories": ["quotree"],
    }
