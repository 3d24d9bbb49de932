"""The schema of a QuotaGroup, with the rules about one object, and how the API server prints it."""

from typing import Any, Final

from shared.api.crds.budgets import MAX_BUDGETS, budget_status_schema, budgets_schema
from shared.api.crds.entry import name_rule, order_weights, quotas_schema
from shared.api.crds.parts import (
    LABEL_VALUE,
    MAX_CONDITIONS,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_NAME,
    MAX_PERCENTS,
    MAX_REQUESTER,
    RULES,
    Schema,
    atomic,
    condition,
    counts,
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
    run_time,
    shown_amounts,
    text,
    times,
    word,
)
from shared.api.crds.timed import overrides_schema, windows_schema
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
        rule(
            "BadBudget",
            "self.metadata.name != 'root' || !has(self.spec) || !has(self.spec.budgets) || "
            "self.spec.budgets.all(b, b.whenSpent != 'NoBorrow')",
            "root borrows from no group; write Warn, NoStart or Drain",
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
                    "The group above it; absent: root. While the parent does not exist, the group is inactive.",
                    maxLength=MAX_NAME,
                ),
                RULES: [name_rule("parent")],
            },
            "isParent": flag("true: holds groups and no workloads. false: a leaf, holds workloads and no groups."),
            "quotas": quotas_schema(),
            "allowLending": flag(
                "false: an absent lendingLimit counts 0, so that the whole min is kept while it is idle."
            ),
            "namespaceSelector": _selector_schema(),
            "requireRequests": flag("true: every container of workloads here and below requests cpu and memory."),
            "queueing": record(
                "How the queue of a leaf is served.",
                {
                    "strategy": word(
                        "StrictFIFO: a workload that waits blocks those behind it. Absent: BestEffortFIFO.",
                        "BestEffortFIFO",
                        "StrictFIFO",
                    ),
                    "patience": duration("How long the head of a BestEffortFIFO queue may be passed by others."),
                    "order": word(
                        "Whose workload is next among those of one priority: the oldest, or one of the namespace or "
                        "user with the least past use in this leaf. Absent: Age.",
                        "Age",
                        "Namespace",
                        "User",
                    ),
                    "weights": order_weights(),
                },
            ),
            "flavorFungibility": record(
                "When a later flavor is preferred to an earlier one.",
                {
                    "whenCanBorrow": word(
                        "Where a workload could start only by borrowing. Absent: TryNextFlavor.",
                        "Borrow",
                        "TryNextFlavor",
                    ),
                    "whenCanReclaim": word(
                        "Where it could start only after reclaim. Absent: TryNextFlavor.", "Reclaim", "TryNextFlavor"
                    ),
                },
            ),
            "preemption": record(
                "Whether workloads of the group replace each other by priority.",
                {
                    "withinGroup": word(
                        "Absent: LowerPriority, a workload may replace ones of lower priority.",
                        "LowerPriority",
                        "Never",
                    )
                },
            ),
            "reclaim": _reclaim_schema(),
            "startup": _startup_schema(),
            "maxRunTime": run_time("How long a workload may run here and below; then it is stopped for good."),
            "budgets": budgets_schema(),
            "stopPolicy": word(
                "For the whole subtree. Close: refuse new workloads. Hold: start none. HoldAndDrain: and evict all.",
                "None",
                "Close",
                "Hold",
                "HoldAndDrain",
            ),
            "overrides": overrides_schema(),
            "windows": windows_schema(),
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
        "How borrowed quota is taken back; overrides the cluster's settings here and below.",
        {
            "mode": word("OnDemand: for an entitled workload. Strict: whenever over runtime.", "OnDemand", "Strict"),
            "gracePeriod": duration(
                "How long a leaf may be over its runtime before its workloads are evicted for others."
            ),
            "notice": duration("How long before an eviction the workload is given notice."),
            "exemptAfterStart": duration("How long after its start a workload is not evicted for others."),
            "claimTimeout": duration("How long freed room is kept for the workload that it was freed for."),
        },
    )


def _startup_schema() -> Schema:
    return record(
        "All or nothing; overrides the cluster's settings here and below.",
        {
            "waitForPodsReady": flag("Whether a workload whose pods do not all become ready is evicted."),
            "blockAdmission": word("Which starts wait while a workload is not ready.", "Cluster", "Group", "None"),
            "timeout": duration("How long pods may take to become ready after a start."),
            "recoveryTimeout": duration("How long they may take to become ready again."),
            "gang": flag("Whether kube-scheduler places the pods of a Job all or none; needs quota.gangScheduling."),
            "backoffBase": duration("The back-off after the first failed start; it doubles with every further one."),
            "backoffMax": duration("The longest back-off."),
            "limit": number("After how many failed starts a workload is deactivated.", minimum=1, maximum=1000000),
        },
    )


MAX_PERIODS: Final = 36
MAX_NAMESPACES: Final = 201
MAX_LENDERS: Final = 1000
MAX_REQUESTERS: Final = 200
MAX_SERIES: Final = 12
MAX_RUNS: Final = 24
MAX_ARRIVALS: Final = 48
MAX_WAITS: Final = 48

_NUMBERS: Final = {
    "min": "The effective min: min, scaled down where the mins together are more than there is.",
    "request": "used, and what pending workloads request that count.",
    "used": "What admitted workloads request, until their pods have ended.",
    "nonPreemptible": "The part of used that belongs to workloads that are not preemptible.",
    "charge": "What the group costs its parent: used, or what is kept for idle groups below it if that is more.",
    "runtime": "What the group can use now: its share of what there is.",
    "borrowed": "What is used above min.",
    "lendable": "What others can use of min now.",
    "capacity": "What the nodes offer; only on root.",
}


_ACCOUNT: Final = {
    "used": "What was used.",
    "borrowed": "The part of used above min.",
    "lent": "What siblings used of this group's min.",
    "lost": "The part of used that evictions made useless.",
}


_UNIT: Final = "base units times milliseconds, by resource"


def _account_schema() -> Schema:
    flavor: Schema = {**text("The flavor.", maxLength=MAX_NAME), "default": "default"}
    amounts = {name: shown_amounts(f"{meaning[:-1]}: {_UNIT}.") for name, meaning in _ACCOUNT.items()}
    used = {"flavor": flavor, "used": amounts["used"]}
    lender = {
        "group": text("The sibling; absent: all that are not listed.", maxLength=MAX_NAME),
        "amounts": shown_amounts(f"What it lent: {_UNIT}."),
    }
    lenders = listing(
        "Which siblings lent what of borrowed; the rest the parent had.", record("One sibling.", lender), MAX_LENDERS
    )
    of_flavor = {"flavor": flavor, **amounts, "borrowedFrom": lenders}
    namespace = {
        "namespace": text("The namespace; absent: all that are not listed.", maxLength=MAX_NAME),
        "flavors": listing("By flavor.", record("What was used of one flavor.", used), MAX_ENTRIES),
    }
    return record(
        "The account of one month.",
        {
            "period": text("The month, such as 2026-10.", maxLength=7),
            "flavors": listing("By flavor.", record("The account of one flavor.", of_flavor), MAX_ENTRIES),
            "namespaces": listing("By namespace; only of a leaf.", record("One namespace.", namespace), MAX_NAMESPACES),
        },
    )


def _beside_children_schema() -> Schema:
    """Return what a parent's account has beside its children's; it can be below 0."""
    amounts = {name: shown_amounts(f"{_ACCOUNT[name][:-1]}: {_UNIT}.") for name in ("used", "lost")}
    flavor = {"flavor": {**text("The flavor.", maxLength=MAX_NAME), "default": "default"}, **amounts}
    month = {
        "period": text("The month, such as 2026-10.", maxLength=7),
        "flavors": listing("By flavor.", record("One flavor.", flavor), MAX_ENTRIES),
    }
    parts = {
        "children": text("Stands for the children.", maxLength=MAX_NAME),
        "accounts": listing("By month.", record("One month.", month), MAX_PERIODS),
    }
    return atomic(record("What the account of a parent has beside its children's, after edits of the tree.", parts))


def _run_times_schema() -> Schema:
    seconds = listing("In seconds; the latest is the last.", number("One run.", format="int64"), MAX_RUNS)
    series = {"series": text("Stands for namespace and prefix of the names.", maxLength=MAX_NAME), "seconds": seconds}
    percents = listing("Of what their owners had expected.", number("One run."), MAX_RUNS)
    workloads = listing("By series of alike workloads.", record("One series.", series), MAX_SERIES)
    arrival = {
        "request": shown_amounts("What each requested, in base units."),
        "priority": number("Their priority.", format="int32"),
        "came": listing("When each came, in seconds since 1970.", number("One.", format="int64"), MAX_ARRIVALS),
        "seconds": listing("How long each ran.", number("One run.", format="int64"), MAX_ARRIVALS),
    }
    alike = record("Those with the same request and priority.", arrival)
    arrivals = listing("Workloads that have ended.", alike, MAX_ARRIVALS)
    since = number("Of what came after this moment and has ended, all are listed.", format="int64")
    waits = listing("How long they waited of what was forecast, in thousandths.", number("One wait."), MAX_WAITS)
    parts = {"workloads": workloads, "percents": percents, "arrivals": arrivals, "arrivalsSince": since}
    parts |= {"waitsOfEarliest": waits, "waitsOfLatest": waits}
    return atomic(record("How long workloads of a leaf ran, and when they came.", parts))


def _percent_schema() -> Schema:
    return record(
        "One limit, and what it comes to now.",
        {
            "limit": text("Its field in spec.quotas.", maxLength=MAX_NAME),
            "resource": text("The resource.", maxLength=MAX_KEY),
            "percent": text("As it is written.", maxLength=64),
            "amount": text("What it comes to; absent: not known.", maxLength=64),
        },
    )


def status_schema() -> Schema:
    """Everything the reconciler writes. What it alone writes as a whole is atomic: who owns which field is not kept."""
    quota = record(
        "One flavor's numbers.",
        {
            "flavor": {**text("The flavor.", maxLength=MAX_NAME), "default": "default"},
            **{name: shown_amounts(meaning) for name, meaning in _NUMBERS.items()},
            "largestNodes": listing(
                "The largest ready nodes; only on root.", shown_amounts("What one node offers."), MAX_LARGEST_NODES
            ),
            "overSince": times("Since when used has been above runtime, by resource."),
            "pastUse": shown_amounts("Decayed past use at pastUseTime: base units times seconds, by resource."),
            "percents": listing("Limits that are percents.", _percent_schema(), MAX_PERCENTS),
        },
    )
    requester = record(
        "One namespace or user.",
        {
            "name": text("Its name; absent: all that are not listed.", maxLength=MAX_REQUESTER),
            "pastUse": shown_amounts("Decayed past use at pastUseTime: base units times seconds, by resource."),
        },
    )
    return record(
        "What is true now; only the reconciler writes it.",
        {
            "conditions": listing(
                "Active, OverRuntime, Ready, Stopped, Drained, HasNodes.",
                condition("Active, OverRuntime, Ready, Stopped, Drained or HasNodes."),
                MAX_CONDITIONS,
                key=("type",),
            ),
            "quotas": listing("Numbers per flavor.", quota, MAX_ENTRIES),
            "workloads": atomic(
                record(
                    "How many workloads there are here and below.",
                    {
                        **{name: number(name) for name in ("pending", "admitted", "ready")},
                        "waiting": counts("Reason: how many wait for it, as counted in the last minutes."),
                    },
                )
            ),
            "columns": atomic(
                record("What kubectl prints.", {name: text(name) for name in ("min", "used", "runtime")})
            ),
            "accounts": listing("What was used in each of the last months.", _account_schema(), MAX_PERIODS),
            "accountedUntil": text("All before this moment is in accounts, nothing after it.", format="date-time"),
            "besideChildren": _beside_children_schema(),
            "runTimes": _run_times_schema(),
            "budgets": listing("The budgets in their current periods.", budget_status_schema(), MAX_BUDGETS),
            "requesters": listing(
                "Who has used most of a leaf whose order is by namespace or user.", requester, MAX_REQUESTERS + 1
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
