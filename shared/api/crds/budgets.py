"""The schema of `spec.budgets` and `status.budgets`."""

from typing import Final

from shared.api.crds.parts import (
    MAX_KEY,
    MAX_NAME,
    NAME,
    QUANTITY,
    RULES,
    Schema,
    listing,
    not_a_key,
    record,
    rule_with_words,
    text,
    word,
)

MAX_BUDGETS: Final = 16
ZONE: Final = r"^[A-Z][-A-Za-z0-9_+]*(/[A-Za-z0-9][-A-Za-z0-9_+]*){0,2}$"
_HOURS: Final = QUANTITY.replace("[+-]?", "", 1)
_PERIODS: Final = ("Day", "Week", "Month", "Quarter", "Year", "Total")
_CONSEQUENCES: Final = ("Warn", "NoBorrow", "NoStart", "Drain")
_REQUIRED: Final = ("resource", "hours", "period")
_KEY: Final = ("resource", "flavor", "period", "timeZone", "whenSpent")


def budgets_schema() -> Schema:
    """Return all budgets of a group; two of the same hours differ in whenSpent."""
    return listing(
        "How many hours of a resource the group and those below it may use in a period.",
        _budget_schema(),
        MAX_BUDGETS,
        key=_KEY,
    )


def other_hours_schema() -> Schema:
    """Return the hours that budgets of the group have for a time; that it has them is judged by the webhook."""
    own = {
        name: {key: value for key, value in each.items() if key != RULES}
        for name, each in _budget_schema()["properties"].items()
    }
    item = record("Other hours of a budget that the group has.", own, required=_REQUIRED)
    return listing("Budgets that have other hours; all else of them is as in spec.budgets.", item, MAX_BUDGETS)


def _budget_schema() -> Schema:
    return record(
        "One budget.",
        {
            "resource": {
                **text("The resource.", maxLength=MAX_KEY),
                RULES: [
                    rule_with_words(
                        "BadBudget",
                        f"!({not_a_key('self')})",
                        'a budget names a resource "%s"; write one such as cpu, memory or nvidia.com/gpu',
                        "self",
                    )
                ],
            },
            "flavor": {
                **text("The ResourceFlavor. Absent: all of them together.", maxLength=MAX_NAME),
                "default": "",
                RULES: [
                    rule_with_words(
                        "BadBudget",
                        f"self == '' || self.matches(r'{NAME}')",
                        'a budget names a flavor "%s", which is not a name; leave it out for all',
                        "self",
                    )
                ],
            },
            "hours": {
                "description": "How many hours: 1000 of cpu are hours of cores, 512Gi of memory are hours of GiB.",
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "maxLength": 64,
                "minimum": 0,
                "pattern": _HOURS,
                "x-kubernetes-int-or-string": True,
            },
            "period": word("When it begins again, at midnight; a week begins on Monday. Total: never.", *_PERIODS),
            "timeZone": {
                **text("Where it is midnight, such as Europe/Berlin. Absent: UTC.", maxLength=MAX_NAME, pattern=ZONE),
                "default": "UTC",
            },
            "whenSpent": {
                **word(
                    "What follows. Warn: nothing. NoBorrow: the group keeps within min. NoStart: no workload starts. "
                    "Drain: and those that are preemptible are evicted. Absent: Warn.",
                    *_CONSEQUENCES,
                ),
                "default": "Warn",
            },
        },
        required=_REQUIRED,
    )


def budget_status_schema() -> Schema:
    """Return what the reconciler writes of one budget."""
    moments = {
        "since": "When its current period began; absent of one that never begins again.",
        "until": "When its next period begins.",
        "countedSince": "Since when use is counted, if not since the period began.",
        "spentAt": "When it was spent.",
        "expectedAt": "When it will be spent at the present use; absent: not in this period.",
    }
    texts = {
        "resource": "The resource.",
        "flavor": "The flavor; absent: all together.",
        "period": "The period.",
        "timeZone": "The time zone.",
        "hours": "The hours of the budget.",
        "whenSpent": "What follows when it is spent.",
        "used": "What was used in the period until accountedUntil: base units times milliseconds.",
        "usedHours": "The same in hours, for people.",
    }
    return record(
        "One budget in its current period.",
        {
            **{name: text(meaning, maxLength=MAX_KEY) for name, meaning in texts.items()},
            **{name: text(meaning, format="date-time") for name, meaning in moments.items()},
        },
    )
