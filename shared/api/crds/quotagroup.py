"""The schema of a QuotaGroup, with the rules about one object, and how the API server prints it."""

from typing import Any, Final

from shared.api.crds.entry import name_rule, quotas_schema
from shared.api.crds.parts import (
    LABEL_VALUE,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_NAME,
    RULES,
    Schema,
    atomic,
    duration,
    flag,
    label_key_rule,
    labels,
    listing,
    not_a_key,
    number,
    record,
    rule,
    rule_with_words,
    shown_amounts,
    text,
    times,
    word,
)
from shared.api.quotagroup import MAX_LARGEST_NODES

COLUMNS: Final = (
    ("Parent", ".spec.parent", "string", 0),
    ("Min", ".status.columns.min", "string", 0),
    ("Used", ".status.columns.used", "string", 0),
    ("Runtime", ".status.columns.runtime", "string", 0),
    ("Pending", ".status.workloads.pending", "integer", 0),
    ("Active", '.status.conditions[?(@.type=="Active")].status', "string", 0),
    ("Stop", ".spec.stopPolicy", "string", 1),
    ("Age", ".metadata.creationTimestamp", "date", 1),
)


def quotagroup_schema() -> Schema:
    """Return the schema of the whole object."""
    return record(
        "One node of the organisation's tree: what it was promised, and what it may use.",
        {
            "apiVersion": text("quotree.dev/v1alpha1"),
            "kind": text("QuotaGroup"),
            "metadata": {"type": "object"},
            "spec": spec_schema(),
            "status": status_schema(),
        },
        rule(
            "BadName",
            f"size(self.metadata.name) <= {MAX_NAME}",
            f"a group's name is a label value: at most {MAX_NAME} characters",
        ),
        rule(
            "OwnParent",
            "!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
            "a group cannot be its own parent; leave parent out for a child of root",
        ),
        *_built_in_rules(),
    )


def _built_in_rules() -> tuple[Schema, ...]:
    spec = "(self.metadata.name != '{}' || !has(self.spec)) || "
    unlimited = " && ".join(f"!has(q.{field})" for field in ("min", "borrowingLimit", "lendingLimit", "weight"))
    return (
        rule(
            "BuiltInLocked",
            f"{spec.format('root')}!has(self.spec.parent)",
            "root is the cluster itself and has no parent; take parent out",
        ),
        rule(
            "BuiltInLocked",
            f"{spec.format('root')}(has(self.spec.isParent) && self.spec.isParent)",
            "root holds groups; keep isParent: true",
        ),
        rule(
            "BuiltInLocked",
            f"{spec.format('root')}!has(self.spec.quotas) || self.spec.quotas.all(q, {unlimited})",
            "of root only max may be set; its capacity is what the nodes have",
        ),
        *(
            rule(
                "BuiltInLocked",
                f"{spec.format(name)}((!has(self.spec.parent) || self.spec.parent == 'root') && "
                "(!has(self.spec.isParent) || !self.spec.isParent))",
                f"{name} is a leaf below root; keep it so",
            )
            for name in ("system", "default")
        ),
        rule(
            "BuiltInLocked",
            f"{spec.format('system')}!has(self.spec.quotas) || size(self.spec.quotas) == 0",
            "system is never limited; take quotas out",
        ),
    )


def spec_schema() -> Schema:
    """Everything a person writes."""
    return record(
        "What the group is promised and how it behaves.",
        {
            "parent": {
                **text(
                    "The group it belongs to; absent: root. A parent that does not exist yet makes it inactive.",
                    maxLength=MAX_NAME,
                ),
                RULES: [name_rule("parent")],
            },
            "isParent": flag("true: holds groups, never work. false: a leaf, holds work, never groups."),
            "quotas": quotas_schema(),
            "allowLending": flag("false: lendingLimit 0 wherever none is given."),
            "namespaceSelector": _selector_schema(),
            "requireRequests": flag("true: every container of workloads here and below requests cpu and memory."),
            "queueing": record(
                "How the queue of a leaf is served.",
                {
                    "strategy": word("Whether the head blocks those behind it.", "BestEffortFIFO", "StrictFIFO"),
                    "patience": duration("How long others may pass the head of a BestEffortFIFO queue."),
                },
            ),
            "flavorFungibility": record(
                "When the next flavor is tried instead of this one.",
                {
                    "whenCanBorrow": word(
                        "Where it could start by borrowing only. Absent: TryNextFlavor.", "Borrow", "TryNextFlavor"
                    ),
                    "whenCanReclaim": word(
                        "Where it could start by recycling only. Absent: TryNextFlavor.", "Reclaim", "TryNextFlavor"
                    ),
                },
            ),
            "preemption": record(
                "Who may preempt whom in the group.",
                {"withinGroup": word("LowerPriority: higher priority may replace lower.", "LowerPriority", "Never")},
            ),
            "reclaim": _reclaim_schema(),
            "startup": _startup_schema(),
            "stopPolicy": word("Inherited by the whole subtree.", "None", "Close", "Hold", "HoldAndDrain"),
        },
    )


def _selector_schema() -> Schema:
    expression = record(
        "One requirement.",
        {
            "key": text("A label's key.", minLength=1, maxLength=MAX_KEY),
            "operator": word("How the label and the values are compared.", "In", "NotIn", "Exists", "DoesNotExist"),
            "values": listing(
                "For In and NotIn.", text("A label's value.", maxLength=MAX_NAME, pattern=LABEL_VALUE), MAX_ENTRIES
            ),
        },
        rule_with_words(
            "BadNamespaceSelector",
            "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
            "the requirement on %s is %s without values; give at least one",
            "self.key",
            "self.operator",
        ),
        rule_with_words(
            "BadNamespaceSelector",
            "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
            "the requirement on %s is %s with values; take them out",
            "self.key",
            "self.operator",
        ),
        rule_with_words(
            "BadNamespaceSelector",
            f"!({not_a_key('self.key')})",
            '"%s" is not a label key; write one such as team',
            "self.key",
        ),
        required=("key", "operator"),
    )
    return record(
        "Which namespaces may use the group and those below; absent: inherited. {}: every namespace.",
        {
            "matchLabels": labels(
                "Labels that a namespace has.", MAX_ENTRIES, label_key_rule("BadNamespaceSelector", "team")
            ),
            "matchExpressions": listing("Requirements that a namespace meets.", expression, MAX_ENTRIES),
        },
    )


def _reclaim_schema() -> Schema:
    return record(
        "How borrowed quota comes back; overrides of the cluster's settings.",
        {
            "mode": word("Only for a preemptor, or whenever over runtime.", "OnDemand", "Strict"),
            "gracePeriod": duration("How long a leaf may be over its runtime before work is recycled."),
            "notice": duration("How long before the eviction its owner is told."),
            "exemptAfterStart": duration("How long after its start work is not recycled."),
            "claimTimeout": duration("How long freed room is kept for the one it was freed for."),
        },
    )


def _startup_schema() -> Schema:
    return record(
        "All or nothing; overrides of the cluster's settings.",
        {
            "waitForPodsReady": flag("Whether a job whose pods do not get ready is evicted."),
            "blockAdmission": word("Whom a job that is not ready holds back.", "Cluster", "Group", "None"),
            "timeout": duration("How long the pods may take to get ready."),
            "recoveryTimeout": duration("How long they may take to be ready again."),
            "backoffBase": duration("Wait before the second try; doubled with each."),
            "backoffMax": duration("The longest wait."),
            "limit": number("After how many tries it is given up.", minimum=1, maximum=1000000),
        },
    )


def status_schema() -> Schema:
    """Everything the reconciler writes. What it alone writes as a whole is atomic: who owns which field is not kept."""
    numbers = ("min", "request", "used", "nonPreemptible", "charge", "runtime", "borrowed", "lendable", "capacity")
    condition = record(
        "One condition.",
        {
            "type": text("Active, OverRuntime, Stopped or Drained.", maxLength=316),
            "status": word("Whether it holds.", "True", "False", "Unknown"),
            "reason": text("A CamelCase word.", maxLength=1024),
            "message": text("For people.", maxLength=32768),
            "lastTransitionTime": text("When status last changed.", format="date-time"),
            "observedGeneration": {**number("The spec it is about."), "format": "int64"},
        },
        required=("type", "status"),
    )
    quota = record(
        "One flavor's numbers.",
        {
            "flavor": {**text("The flavor.", maxLength=MAX_NAME), "default": "default"},
            **{name: shown_amounts(f"{name}, as it is now.") for name in numbers},
            "largestNodes": listing(
                "The largest ready nodes; only on root.", shown_amounts("What one node offers."), MAX_LARGEST_NODES
            ),
            "overSince": times("Since when used has been above runtime, by resource."),
            "pastUse": shown_amounts("Decayed past use at pastUseTime: base units times seconds, by resource."),
        },
    )
    return record(
        "What is true now; written by the reconciler alone.",
        {
            "conditions": listing("Active, OverRuntime, Stopped, Drained.", condition, 16, key=("type",)),
            "quotas": listing("Numbers per flavor.", quota, MAX_ENTRIES),
            "workloads": atomic(
                record(
                    "How much work there is here and below.",
                    {name: number(name) for name in ("pending", "admitted", "ready")},
                )
            ),
            "columns": atomic(
                record("What kubectl prints.", {name: text(name) for name in ("min", "used", "runtime")})
            ),
            "pastUseTime": text("The moment of pastUse.", format="date-time"),
            "observedGeneration": {**number("The spec these are about."), "format": "int64"},
        },
    )


def quotagroup_names() -> dict[str, Any]:
    """Return the names of the kind, as in a CRD's spec.names."""
    return {
        "kind": "QuotaGroup",
        "listKind": "QuotaGroupList",
        "plural": "quotagroups",
        "singular": "quotagroup",
        "shortNames": ["qg"],
        "categories": ["quotree"],
    }
