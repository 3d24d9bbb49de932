"""For each rule about one object: a spec just accepted, a spec just refused, and the whole sentence.

The same tables are run through the model and, as the CEL twins, through a real API server.
"""

from typing import Any, NamedTuple


class Case(NamedTuple):
    """`by_schema`: the API server's schema refuses it in words of its own, before any rule is run. `schema_says`: the
    schema's sentence, where it cannot be the same."""

    code: str
    accepted: dict[str, Any]
    refused: dict[str, Any]
    message: str
    field: str
    name: str = "team"
    refused_name: str = ""
    by_schema: bool = False
    schema_says: str = ""


def quotas(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"quotas": list(entries)}


def budgets(*found: dict[str, Any], flavors: int = 0) -> dict[str, Any]:
    """The budgets of a group that covers cpu in the flavor `default`, or in so many others."""
    entries = [{"flavor": f"f{at}", "min": {"cpu": 1}} for at in range(flavors)] or [{"min": {"cpu": 1}}]
    return {"quotas": entries, "budgets": list(found)}


def many_budgets(number: int) -> dict[str, Any]:
    found = ({"resource": "cpu", "flavor": f"f{at}", "hours": 1, "period": "Day"} for at in range(number))
    return budgets(*found, flavors=number)


NAME = "a name is at most 63 lower-case letters, digits, - and ., and begins and ends with a letter or digit"
QUANTITY = "is out of range; a quantity is at least 0 and below 2^63 base units"
TWO_ENTRIES = "two entries cover the same resources or none in common"

COVERED = [{"min": {"cpu": 1}, "max": {"cpu": 4}}]


def override(start: str, end: str, **fields: Any) -> dict[str, Any]:
    return {"from": f"2027-01-{start}T00:00:00Z", "until": f"2027-01-{end}T00:00:00Z", "stopPolicy": "Close", **fields}


def overrides(*listed: dict[str, Any]) -> dict[str, Any]:
    return {"quotas": COVERED, "overrides": list(listed)}


def window(**fields: Any) -> dict[str, Any]:
    listed = {"schedule": "0 20 * * 1-5", "duration": "8h", "stopPolicy": "Close", **fields}
    return {"quotas": COVERED, "windows": [listed]}


def with_other_hours(*found: dict[str, Any]) -> dict[str, Any]:
    """A group with one budget of a day, and an override that names these."""
    special = {"from": "2027-02-01T00:00:00Z", "until": "2027-02-02T00:00:00Z", "budgets": list(found)}
    return {**budgets({"resource": "cpu", "hours": 1, "period": "Day"}), "overrides": [special]}


GROUP_CASES = {
    "an override ends after it begins": Case(
        "OverrideEndsTooEarly",
        overrides(override("01", "02")),
        overrides(override("01", "02"), override("05", "05")),
        "until 2027-01-05T00:00:00Z is not after from 2027-01-05T00:00:00Z; write a later one",
        "spec.overrides[1].until",
    ),
    "overrides hold one after the other": Case(
        "OverridesOverlap",
        overrides(override("03", "05"), override("01", "03")),
        overrides(override("04", "06"), override("01", "05")),
        "begins at 2027-01-04T00:00:00Z, while spec.overrides[1] holds until 2027-01-05T00:00:00Z; "
        "let one end where the other begins, or write what both say into one",
        "spec.overrides[0].from",
        schema_says="two overrides hold at the same time; "
        "let one end where the other begins, or write what both say into one",
    ),
    "two overrides that are the same": Case(
        "OverridesOverlap",
        overrides(override("01", "02")),
        overrides(override("01", "02"), override("01", "02")),
        "begins at 2027-01-01T00:00:00Z, while spec.overrides[0] holds until 2027-01-02T00:00:00Z; "
        "let one end where the other begins, or write what both say into one",
        "spec.overrides[1].from",
        schema_says="two overrides hold at the same time; "
        "let one end where the other begins, or write what both say into one",
    ),
    "an override says something": Case(
        "BadOverride",
        overrides({"from": "2027-01-01T00:00:00Z", "until": "2027-01-02T00:00:00Z", "quotas": [{"max": {"cpu": 2}}]}),
        overrides({"from": "2027-01-01T00:00:00Z", "until": "2027-01-02T00:00:00Z", "reason": "a release"}),
        "says nothing; write quotas, stopPolicy or budgets",
        "spec.overrides[0]",
    ),
    "a window says something": Case(
        "BadOverride",
        window(),
        {"windows": [{"schedule": "0 20 * * *", "duration": "8h", "quotas": []}]},
        "says nothing; write quotas, stopPolicy or budgets",
        "spec.windows[0]",
    ),
    "a moment has a zone": Case(
        "BadField",
        overrides({**override("01", "02"), "from": "2027-01-01T02:00:00.5+02:00"}),
        overrides({**override("01", "02"), "from": "2027-01-01"}),
        "is '2027-01-01'; write a moment with its zone, such as 2027-01-31T18:00:00Z",
        "spec.overrides[0].from",
        by_schema=True,
    ),
    "a window lasts": Case(
        "BadField",
        window(duration="24h"),
        window(duration=None),
        "is missing",
        "spec.windows[0].duration",
        by_schema=True,
    ),
    "at most 32 overrides": Case(
        "TooManyEntries",
        overrides(*(override(f"{at:02}", f"{at + 1:02}") for at in range(1, 31))),
        overrides(
            *(
                {**override("01", "02"), "from": f"20{at}-01-01T00:00:00Z", "until": f"20{at}-02-01T00:00:00Z"}
                for at in range(30, 63)
            )
        ),
        "has 33 overrides, at most 32 are allowed; take out those that have ended",
        "spec.overrides",
        by_schema=True,
    ),
    "at most 8 windows": Case(
        "TooManyEntries",
        {"quotas": COVERED, "windows": window()["windows"] * 8},
        {"quotas": COVERED, "windows": window()["windows"] * 9},
        "has 9 windows, at most 8 are allowed; take out those that have ended",
        "spec.windows",
        by_schema=True,
    ),
    "min at most max": Case(
        "MinAboveMax",
        quotas({"flavor": "a100", "min": {"cpu": "4"}, "max": {"cpu": "4"}}),
        quotas({"flavor": "a100", "min": {"cpu": "6"}, "max": {"cpu": "4"}}),
        "min of a100/cpu is 6, max is 4; lower min to 4 or raise max to 6",
        "spec.quotas[0].min",
    ),
    "min above max in the second entry": Case(
        "MinAboveMax",
        quotas({"min": {"cpu": 1}}, {"flavor": "b", "min": {"memory": "1Gi"}, "max": {"memory": "1024Mi"}}),
        quotas({"min": {"cpu": 1}}, {"flavor": "b", "min": {"memory": "2Gi"}, "max": {"memory": "1Gi"}}),
        "min of b/memory is 2Gi, max is 1Gi; lower min to 1Gi or raise max to 2Gi",
        "spec.quotas[1].min",
    ),
    "percents of min at most max": Case(
        "MinAboveMax",
        quotas({"min": {"cpu": "50%", "memory": "90%"}, "max": {"cpu": "50.0%", "memory": 1}}),
        quotas({"min": {"cpu": "60.5%"}, "max": {"cpu": "60%"}}),
        "min of default/cpu is 60.5%, max is 60%; lower min to 60% or raise max to 60.5%",
        "spec.quotas[0].min",
    ),
    "percents of lendingLimit at most min": Case(
        "LendingLimitAboveMin",
        quotas({"min": {"cpu": "9%", "memory": "9%"}, "lendingLimit": {"cpu": "9%", "memory": "1Ti"}}),
        quotas({"min": {"cpu": "9%"}, "lendingLimit": {"cpu": "10%"}}),
        "lendingLimit of default/cpu is 10%, min is 9%; lower lendingLimit to 9% or raise min to 10%",
        "spec.quotas[0].lendingLimit",
    ),
    "an absent min lends no percent": Case(
        "LendingLimitAboveMin",
        quotas({"max": {"cpu": "40%"}, "lendingLimit": {"cpu": "0%"}, "weight": {"cpu": "999.999%"}}),
        quotas({"max": {"cpu": "40%"}, "lendingLimit": {"cpu": "1%"}}),
        "lendingLimit of default/cpu is 1%, min is 0; lower lendingLimit to 0 or raise min to 1%",
        "spec.quotas[0].lendingLimit",
    ),
    "a percent below 1000": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "0.001%"}}),
        quotas({"min": {"cpu": "1000%"}}),
        "min of cpu: '1000%' is not a percent; write one from 0% to 999.999%, for example 40% or 12.5%",
        "spec.quotas[0].min[cpu]",
        by_schema=True,
    ),
    "lendingLimit at most min": Case(
        "LendingLimitAboveMin",
        quotas({"min": {"cpu": "4"}, "lendingLimit": {"cpu": "4"}}),
        quotas({"min": {"cpu": "4"}, "lendingLimit": {"cpu": "5"}}),
        "lendingLimit of default/cpu is 5, min is 4; lower lendingLimit to 4 or raise min to 5",
        "spec.quotas[0].lendingLimit",
    ),
    "an absent min lends nothing": Case(
        "LendingLimitAboveMin",
        quotas({"max": {"cpu": "4"}, "lendingLimit": {"cpu": "0"}}),
        quotas({"max": {"cpu": "4"}, "lendingLimit": {"cpu": "1"}}),
        "lendingLimit of default/cpu is 1, min is 0; lower lendingLimit to 0 or raise min to 1",
        "spec.quotas[0].lendingLimit",
    ),
    "a weight is of something covered": Case(
        "UncoveredResource",
        quotas({"max": {"cpu": "4"}, "weight": {"cpu": "1"}}),
        quotas({"max": {"cpu": "4"}, "weight": {"memory": "1"}}),
        "weight names memory, which the entry of default does not cover; "
        "name it in min or max, or take it out of weight",
        "spec.quotas[0].weight",
    ),
    "a borrowingLimit is of something covered": Case(
        "UncoveredResource",
        quotas({"min": {"cpu": "0"}, "borrowingLimit": {"cpu": "1"}}),
        quotas({"borrowingLimit": {"cpu": "1"}}),
        "borrowingLimit names cpu, which the entry of default does not cover; "
        "name it in min or max, or take it out of borrowingLimit",
        "spec.quotas[0].borrowingLimit",
    ),
    "two entries cover the same": Case(
        "OverlappingEntries",
        quotas({"min": {"cpu": 1}, "max": {"memory": 1}}, {"flavor": "b", "max": {"cpu": 1, "memory": 1}}),
        quotas({"min": {"cpu": 1}, "max": {"memory": 1}}, {"flavor": "b", "max": {"cpu": 1}}),
        f"b covers cpu, default covers cpu, memory; {TWO_ENTRIES}: give both the same, or take cpu out of one",
        "spec.quotas[1]",
        schema_says=f"two entries have something in common and not all; {TWO_ENTRIES}: "
        "give both the same, or take out of one what both have",
    ),
    "two entries have nothing in common": Case(
        "OverlappingEntries",
        quotas({"min": {"cpu": 1}}, {"flavor": "b", "min": {"gpu": 1}}),
        quotas({"min": {"cpu": 1}}, {"flavor": "b", "min": {"gpu": 1, "cpu": 1}}),
        f"b covers cpu, gpu, default covers cpu; {TWO_ENTRIES}: give both the same, or take cpu out of one",
        "spec.quotas[1]",
        schema_says=f"b and default have cpu in common and not all; {TWO_ENTRIES}: "
        "give both the same, or take out of one what both have",
    ),
    "counts are not compared": Case(
        "OverlappingEntries",
        quotas({"max": {"cpu": 1, "pods": 1}}, {"flavor": "b", "max": {"cpu": 1}}),
        quotas({"min": {"cpu": 1, "gpu": 1}, "max": {"gpu": 1}}, {"flavor": "b", "min": {"cpu": 1}}),
        f"b covers cpu, default covers cpu, gpu; {TWO_ENTRIES}: give both the same, or take cpu out of one",
        "spec.quotas[1]",
        schema_says=f"default and b have cpu in common and not all; {TWO_ENTRIES}: "
        "give both the same, or take out of one what both have",
    ),
    "counts have no flavor": Case(
        "CountOfFlavor",
        quotas({"flavor": "a", "max": {"cpu": 1}}, {"max": {"pods": 1}}),
        quotas({"flavor": "a", "max": {"cpu": 1, "pods": 1}}),
        "names pods of flavor a, and counts have none: name them in an entry without flavor",
        "spec.quotas[0]",
        schema_says="names pods or workloads of a flavor, and counts have none: name them in an entry without flavor",
    ),
    "counts are no flavor": Case(
        "BadField",
        quotas({"min": {"workloads": 1}}),
        quotas({"flavor": "counts", "min": {"workloads": 1}}),
        "counts is no flavor: it stands for that of pods and workloads, which have none; leave flavor out",
        "spec.quotas[0].flavor",
        schema_says="counts is no flavor: it stands for that of pods and workloads, which have none; leave flavor out",
    ),
    "a count is a whole number": Case(
        "BadQuantity",
        quotas({"max": {"workloads": "20", "pods": "40%"}}),
        quotas({"max": {"workloads": "1500m"}}),
        "max of workloads: 1500m is not a whole number of pods or workloads; write one such as 20, without a unit",
        "spec.quotas[0].max[workloads]",
    ),
    "a count among others is found where it is written": Case(
        "MinAboveMax",
        quotas({"min": {"cpu": 1, "pods": 2}, "max": {"pods": 2}}),
        quotas({"flavor": "b", "min": {"gpu": 1}}, {"min": {"cpu": 1, "pods": 3}, "max": {"pods": 2}}),
        "min of counts/pods is 3, max is 2; lower min to 2 or raise max to 3",
        "spec.quotas[1].min",
        schema_says="min of default/pods is 3, max is 2; lower min to 2 or raise max to 3",
    ),
    "one entry a flavor": Case(
        "DuplicateFlavor",
        quotas({"flavor": "a", "min": {"cpu": 1}}, {"flavor": "b", "min": {"cpu": 1}}),
        quotas({"flavor": "a", "min": {"cpu": 1}}, {"flavor": "a", "min": {"cpu": 1}}),
        "flavor a has entry 0 already; join both into one",
        "spec.quotas[1].flavor",
        by_schema=True,
    ),
    "at most 64 entries": Case(
        "TooManyEntries",
        quotas(*({"flavor": f"f{at}", "min": {"cpu": 1}} for at in range(64))),
        quotas(*({"flavor": f"f{at}", "min": {"cpu": 1}} for at in range(65))),
        "has 65 entries, at most 64 are allowed; take some out",
        "spec.quotas",
        by_schema=True,
    ),
    "at most 64 resources": Case(
        "TooManyEntries",
        quotas({"min": {f"r{at}": 1 for at in range(64)}}),
        quotas({"min": {f"r{at}": 1 for at in range(65)}}),
        "covers 65 resources, at most 64 are allowed; take some out",
        "spec.quotas[0]",
        by_schema=True,
    ),
    "zero is a quantity": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "-0"}}),
        quotas({"min": {"cpu": "-1"}}),
        f"min of cpu: -1 {QUANTITY}",
        "spec.quotas[0].min",
    ),
    "the largest quantity": Case(
        "BadQuantity",
        quotas({"max": {"memory": "9223372036854775807"}}),
        quotas({"max": {"memory": "9223372036854775808"}}),
        f"max of memory: 9223372036854775808 {QUANTITY}",
        "spec.quotas[0].max[memory]",
    ),
    "the largest cpu": Case(
        "BadQuantity",
        quotas({"max": {"cpu": "9223372036854775807m"}}),
        quotas({"max": {"cpu": "9223372036854775.8071"}}),
        f"max of cpu: 9223372036854775.8071 {QUANTITY}",
        "spec.quotas[0].max[cpu]",
    ),
    "the grammar of quantities": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "1.5e3"}}),
        quotas({"min": {"cpu": "1.5kk"}}),
        "min of cpu: '1.5kk' is not a quantity; write for example 4, 500m, 1.5 or 16Gi",
        "spec.quotas[0].min[cpu]",
        by_schema=True,
    ),
    "an exponent of two digits": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "1e15"}, "max": {"cpu": "1E+15"}}),
        quotas({"min": {"cpu": "1e999999999"}, "max": {"cpu": "1"}, "lendingLimit": {"cpu": "1E+999999999"}}),
        f"min of cpu: 1e999999999 {QUANTITY}",
        "spec.quotas[0].min[cpu]",
        by_schema=True,
    ),
    "a quantity of a few characters": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "0" * 64}}),
        quotas({"min": {"cpu": "9" * 100_000}}),
        "min of cpu: a quantity has at most 64 characters, this one has 100000",
        "spec.quotas[0].min[cpu]",
        by_schema=True,
    ),
    "quantities in ASCII": Case(
        "BadQuantity",
        quotas({"min": {"cpu": "12"}}),
        quotas({"min": {"cpu": "\uff11\uff12"}}),
        "min of cpu: '\uff11\uff12' is not a quantity; write for example 4, 500m, 1.5 or 16Gi",
        "spec.quotas[0].min[cpu]",
        by_schema=True,
    ),
    "the name of a parent": Case(
        "BadName",
        {"parent": "a.b-c"},
        {"parent": "A_b"},
        f'parent "A_b" is not a name; {NAME}',
        "spec.parent",
        schema_says=f"parent is not a name; {NAME}",
    ),
    "the name of a flavor": Case(
        "BadName",
        quotas({"flavor": "x" * 63}),
        quotas({"flavor": "x" * 64}),
        f'flavor "{"x" * 62}…" is not a name; {NAME}',
        "spec.quotas[0].flavor",
        by_schema=True,
    ),
    "the name of a resource": Case(
        "BadName",
        quotas({"min": {"nvidia.com/gpu": 1}}),
        quotas({"min": {"nvidia.com/": 1}}),
        'min names a resource "nvidia.com/"; write one such as cpu, memory or nvidia.com/gpu',
        "spec.quotas[0].min",
    ),
    "the length of a group's name": Case(
        "BadName",
        {},
        {},
        "name has 64 characters; a group's name is a label value: at most 63",
        "metadata.name",
        name="x" * 63,
        refused_name="x" * 64,
        schema_says="a group's name is a label value: at most 63 characters",
    ),
    "not its own parent": Case(
        "OwnParent",
        {"parent": "other"},
        {"parent": "team"},
        "a group cannot be its own parent; leave parent out for a child of root",
        "spec.parent",
    ),
    "a selector needs values": Case(
        "BadNamespaceSelector",
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}},
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": []}]}},
        "the requirement on team is In without values; give at least one",
        "spec.namespaceSelector.matchExpressions[0]",
    ),
    "a weight in the order is not negative": Case(
        "BadWeight",
        {"queueing": {"order": "Namespace", "weights": {"team-a": "500m", "team-b": 0}}},
        {"queueing": {"order": "Namespace", "weights": {"team-a": -1}}},
        "the weight of team-a is -1; write 0 or more",
        "spec.queueing.weights[team-a]",
    ),
    "a weight in the order has a name": Case(
        "BadWeight",
        {"queueing": {"order": "User", "weights": {"a": 1}}},
        {"queueing": {"order": "User", "weights": {"": 1}}},
        '"" names nobody; write a namespace or a user of at most 253 characters',
        "spec.queueing.weights[]",
    ),
    "hours of a budget are not negative": Case(
        "BadBudget",
        budgets({"resource": "cpu", "hours": "0", "period": "Day"}),
        budgets({"resource": "cpu", "hours": "-1", "period": "Day"}),
        "hours of cpu are -1; write 0 or more",
        "spec.budgets[0].hours",
        by_schema=True,
    ),
    "a budget names a resource": Case(
        "BadBudget",
        budgets({"resource": "cpu", "hours": 1, "period": "Week"}),
        budgets({"resource": "c p u", "hours": 1, "period": "Week"}),
        'a budget names a resource "c p u"; write one such as cpu, memory or nvidia.com/gpu',
        "spec.budgets[0].resource",
    ),
    "a budget names a flavor": Case(
        "BadBudget",
        budgets({"resource": "cpu", "flavor": "default", "hours": 1, "period": "Total"}),
        budgets({"resource": "cpu", "flavor": "A100", "hours": 1, "period": "Total"}),
        'a budget names a flavor "A100", which is not a name; leave it out for all',
        "spec.budgets[0].flavor",
    ),
    "root borrows from no group": Case(
        "BadBudget",
        {"isParent": True, "budgets": [{"resource": "cpu", "hours": 1, "period": "Year", "whenSpent": "NoStart"}]},
        {"isParent": True, "budgets": [{"resource": "cpu", "hours": 1, "period": "Year", "whenSpent": "NoBorrow"}]},
        "root borrows from no group; write Warn, NoStart or Drain",
        "spec.budgets[0].whenSpent",
        name="root",
    ),
    "other hours of a budget are not negative": Case(
        "BadBudget",
        with_other_hours({"resource": "cpu", "hours": "0", "period": "Day"}),
        with_other_hours({"resource": "cpu", "hours": "-1", "period": "Day"}),
        "hours of cpu are -1; write 0 or more",
        "spec.overrides[0].budgets[0].hours",
        by_schema=True,
    ),
    "budgets of the same hours differ in what follows": Case(
        "DuplicateBudget",
        budgets(*({"resource": "cpu", "hours": 1, "period": "Day", "whenSpent": each} for each in ("Warn", "Drain"))),
        budgets(*({"resource": "cpu", "hours": each, "period": "Day", "whenSpent": "Drain"} for each in (1, 2))),
        "is of the same hours as budget 0, and Drain too; keep one",
        "spec.budgets[1].whenSpent",
        by_schema=True,
    ),
    "at most 200 weights": Case(
        "TooManyEntries",
        {"queueing": {"weights": {f"team-{at}": 1 for at in range(200)}}},
        {"queueing": {"weights": {f"team-{at}": 1 for at in range(201)}}},
        "has 201 weights, at most 200 are allowed; take some out",
        "spec.queueing.weights",
        by_schema=True,
    ),
    "at most 16 budgets": Case(
        "TooManyEntries",
        many_budgets(16),
        many_budgets(17),
        "has 17 budgets, at most 16 are allowed; take some out",
        "spec.budgets",
        by_schema=True,
    ),
    "a budget has a period": Case(
        "BadField",
        budgets({"resource": "cpu", "hours": 1, "period": "Quarter"}),
        budgets({"resource": "cpu", "hours": 1, "period": "Fortnight"}),
        "is 'Fortnight'; write one of Day, Week, Month, Quarter, Year, Total",
        "spec.budgets[0].period",
        by_schema=True,
    ),
    "Exists has no values": Case(
        "BadNamespaceSelector",
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}},
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists", "values": ["a"]}]}},
        "the requirement on team is Exists with values; take them out",
        "spec.namespaceSelector.matchExpressions[0]",
    ),
    "a selector's label values": Case(
        "BadNamespaceSelector",
        {"namespaceSelector": {"matchLabels": {"team": "a"}}},
        {"namespaceSelector": {"matchLabels": {"team": "a b"}}},
        '"a b" is not a label value',
        "spec.namespaceSelector.matchLabels[team]",
        by_schema=True,
    ),
    "the key of a requirement": Case(
        "BadNamespaceSelector",
        {"namespaceSelector": {"matchExpressions": [{"key": "example.com/team", "operator": "Exists"}]}},
        {"namespaceSelector": {"matchExpressions": [{"key": "example.com/", "operator": "Exists"}]}},
        '"example.com/" is not a label key; write one such as team',
        "spec.namespaceSelector.matchExpressions[0]",
    ),
    "a selector's label keys": Case(
        "BadNamespaceSelector",
        {"namespaceSelector": {"matchLabels": {"example.com/team": "a"}}},
        {"namespaceSelector": {"matchLabels": {"example.com/team/": "a"}}},
        '"example.com/team/" is not a label key; write one such as team',
        "spec.namespaceSelector.matchLabels",
    ),
    "root has no parent": Case(
        "BuiltInLocked",
        {"isParent": True, "quotas": [{"max": {"cpu": 1}}]},
        {"isParent": True, "parent": "team"},
        "root is the cluster itself and has no parent; take parent out",
        "spec.parent",
        name="root",
    ),
    "root holds groups": Case(
        "BuiltInLocked",
        {"isParent": True, "stopPolicy": "Hold"},
        {"isParent": False},
        "root holds groups; keep isParent: true",
        "spec.isParent",
        name="root",
    ),
    "root is promised nothing": Case(
        "BuiltInLocked",
        {"isParent": True, "quotas": [{"max": {"cpu": 1}}]},
        {"isParent": True, "quotas": [{"min": {"cpu": 1}}]},
        "of root only max may be set; its capacity is what the nodes have",
        "spec.quotas",
        name="root",
    ),
    "default is a leaf below root": Case(
        "BuiltInLocked",
        {"parent": "root", "quotas": [{"min": {"cpu": 1}, "max": {"cpu": 2}}]},
        {"parent": "team"},
        "default is a leaf below root; keep it so",
        "spec.parent",
        name="default",
    ),
    "default holds no groups": Case(
        "BuiltInLocked",
        {"isParent": False},
        {"isParent": True},
        "default is a leaf below root; keep it so",
        "spec.isParent",
        name="default",
    ),
    "system is a leaf below root": Case(
        "BuiltInLocked",
        {},
        {"parent": "team"},
        "system is a leaf below root; keep it so",
        "spec.parent",
        name="system",
    ),
    "system is never limited": Case(
        "BuiltInLocked",
        {"parent": "root"},
        {"quotas": [{"max": {"cpu": 1}}]},
        "system is never limited; take quotas out",
        "spec.quotas",
        name="system",
    ),
    "no unknown field": Case(
        "BadField",
        {"queueing": {"strategy": "StrictFIFO"}},
        {"queueing": {"strategie": "StrictFIFO"}},
        "is no field; spec.queueing has order, patience, strategy, weights",
        "spec.queueing.strategie",
        by_schema=True,
    ),
    "one of the words": Case(
        "BadField",
        {"stopPolicy": "HoldAndDrain"},
        {"stopPolicy": "Drain"},
        "is 'Drain'; write one of None, Close, Hold, HoldAndDrain",
        "spec.stopPolicy",
        by_schema=True,
    ),
    "a duration": Case(
        "BadField",
        {"reclaim": {"gracePeriod": "1h30m", "notice": "250ms", "exemptAfterStart": "0"}},
        {"reclaim": {"gracePeriod": "1 hour"}},
        "is '1 hour'; write a duration such as 30s, 5m or 1h30m",
        "spec.reclaim.gracePeriod",
        by_schema=True,
    ),
    "a run time that lets a workload start": Case(
        "BadField",
        {"maxRunTime": "1s"},
        {"maxRunTime": "999ms"},
        "is '999ms'; write at least 1s",
        "spec.maxRunTime",
        by_schema=True,
    ),
    "a duration of at most 100 years": Case(
        "BadField",
        {"reclaim": {"claimTimeout": "876000h", "notice": "52560000m", "exemptAfterStart": "999999999s"}},
        {"reclaim": {"claimTimeout": "876000h1ms"}},
        "is '876000h1ms', longer than 100 years; write at most 876000h",
        "spec.reclaim.claimTimeout",
        by_schema=True,
    ),
    "a duration that no computer adds to a moment": Case(
        "BadField",
        {"startup": {"timeout": "0"}},
        {"startup": {"timeout": "999999999h999999999h"}},
        "is '999999999h999999999h', longer than 100 years; write at most 876000h",
        "spec.startup.timeout",
        by_schema=True,
    ),
    "a whole number": Case(
        "BadField",
        {"startup": {"limit": 1}},
        {"startup": {"limit": 0}},
        "is 0; write a number from 1 to 1000000",
        "spec.startup.limit",
        by_schema=True,
    ),
    "true or false": Case(
        "BadField",
        {"isParent": True},
        {"isParent": "yes"},
        "is 'yes'; write true or false",
        "spec.isParent",
        by_schema=True,
    ),
}
TAINT = {"key": "gpu", "effect": "NoSchedule"}
LONGEST_KEY = f"{'d' * 253}/{'n' * 63}"
FLAVOR_CASES = {
    "the keys of labels": Case(
        "BadNodeLabel",
        {"nodeLabels": {"example.com/model": "a100"}},
        {"nodeLabels": {"example.com/a/b": "a100"}},
        '"example.com/a/b" is not a label key; write one such as accelerator or example.com/model',
        "spec.nodeLabels",
    ),
    "the longest key of a label": Case(
        "BadNodeLabel",
        {"nodeLabels": {LONGEST_KEY: "a100"}},
        {"nodeLabels": {f"d{LONGEST_KEY}": "a100"}},
        f'"{"d" * 62}…" is not a label key; write one such as accelerator or example.com/model',
        "spec.nodeLabels",
        schema_says=f'"d{LONGEST_KEY}" is not a label key; write one such as accelerator or example.com/model',
    ),
    "the values of labels": Case(
        "BadNodeLabel",
        {"nodeLabels": {"model": "x" * 63}},
        {"nodeLabels": {"model": "a 100"}},
        '"a 100" is not a label value: at most 63 letters, digits, -, _ and .',
        "spec.nodeLabels[model]",
        by_schema=True,
    ),
    "the keys of taints": Case(
        "BadTaint",
        {"nodeTaints": [TAINT]},
        {"nodeTaints": [{**TAINT, "key": "g p u"}]},
        '"g p u" is not a taint key; write one such as gpu or example.com/gpu',
        "spec.nodeTaints[0].key",
        by_schema=True,
    ),
    "the effects of taints": Case(
        "BadField",
        {"nodeTaints": [TAINT]},
        {"nodeTaints": [{**TAINT, "effect": "Never"}]},
        "is 'Never'; write one of NoSchedule, PreferNoSchedule, NoExecute",
        "spec.nodeTaints[0].effect",
        by_schema=True,
    ),
    "one taint a key and effect": Case(
        "DuplicateTaint",
        {"nodeTaints": [TAINT, {**TAINT, "effect": "NoExecute"}]},
        {"nodeTaints": [TAINT, {**TAINT, "value": "true"}]},
        "taint gpu:NoSchedule is nodeTaints[0] already; take one of them out",
        "spec.nodeTaints[1]",
        by_schema=True,
    ),
    "a toleration of everything": Case(
        "BadToleration",
        {"tolerations": [{"operator": "Exists"}]},
        {"tolerations": [{"effect": "NoSchedule"}]},
        "a toleration without key tolerates every taint; give it operator: Exists, or a key",
        "spec.tolerations[0]",
    ),
    "Exists without value": Case(
        "BadToleration",
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
        {"tolerations": [{"key": "gpu", "operator": "Exists", "value": "true"}]},
        "operator Exists takes no value; take value out",
        "spec.tolerations[0]",
    ),
    "tolerationSeconds with NoExecute": Case(
        "BadToleration",
        {"tolerations": [{"key": "gpu", "effect": "NoExecute", "tolerationSeconds": 5}]},
        {"tolerations": [{"key": "gpu", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        "tolerationSeconds needs effect: NoExecute",
        "spec.tolerations[0]",
    ),
    "at most 64 labels": Case(
        "TooManyEntries",
        {"nodeLabels": {f"l{at}": "" for at in range(64)}},
        {"nodeLabels": {f"l{at}": "" for at in range(65)}},
        "has 65 entries, at most 64 are allowed; take some out",
        "spec.nodeLabels",
        by_schema=True,
    ),
    "the length of a flavor's name": Case(
        "BadName",
        {},
        {},
        "name has 64 characters; a flavor's name is a label value: at most 63",
        "metadata.name",
        name="x" * 63,
        refused_name="x" * 64,
        schema_says="a flavor's name is a label value: at most 63 characters",
    ),
}
