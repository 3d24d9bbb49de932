"""The schema of `spec.overrides` and `spec.windows`: what is different for a time, with the rules about times."""

from typing import Final

from shared.api.crds.budgets import other_hours_schema
from shared.api.crds.parts import (
    MAX_ENTRIES,
    MAX_NAME,
    Schema,
    amounts,
    duration,
    listing,
    record,
    rule,
    rule_with_words,
    text,
    word,
)

MAX_OVERRIDES: Final = 32
MAX_WINDOWS: Final = 8
MAX_REASON: Final = 256
MAX_ZONE: Final = 64
MAX_SCHEDULE: Final = 128
ZONE_PATTERN: Final = r"^[A-Z][-A-Za-z0-9_+]*(/[A-Za-z0-9][-A-Za-z0-9_+]*){0,2}$"
"""Names such as `localtime` mean another zone on another machine."""
SCHEDULE_PATTERN: Final = r"^\S+( +\S+){4}$"
_NUMBERS: Final = {
    "min": "What the group is promised then.",
    "max": "The most that the group may use then.",
    "borrowingLimit": "How far above min the group may go then.",
    "lendingLimit": "How much of min others may use then.",
    "weight": "The group's share then of what is left over.",
}


def overrides_schema() -> Schema:
    """Return what is different between two moments."""
    item = record(
        "What is different from one moment until another.",
        {
            "from": text("When it begins, such as 2027-01-31T18:00:00Z.", format="date-time", maxLength=64),
            "until": text("When it ends; that moment is not in it any more.", format="date-time", maxLength=64),
            **_said(),
        },
        rule_with_words(
            "OverrideEndsTooEarly",
            "self.until > self.from",
            "until %s is not after from %s; write a later one",
            "string(self.until)",
            "string(self.from)",
        ),
        _says_something(),
        required=("from", "until"),
    )
    # Each overlaps itself, and no other.
    apart = "self.all(a, a.until <= a.from || self.filter(b, b.from < a.until && a.from < b.until).size() == 1)"
    message = "two overrides hold at the same time; let one end where the other begins, or write what both say into one"
    return listing(
        "What is different for a time, once. No two at the same time.",
        item,
        MAX_OVERRIDES,
        rule("OverridesOverlap", apart, message),
    )


def windows_schema() -> Schema:
    """Return what is different again and again."""
    item = record(
        "What is different for a while after each time of a schedule.",
        {
            "schedule": text(
                "When it begins: minute, hour, day of month, month and day of week, as cron has them.",
                maxLength=MAX_SCHEDULE,
                pattern=SCHEDULE_PATTERN,
            ),
            "duration": duration("How long it lasts, as time that passes."),
            "timeZone": text(
                "A name of the IANA database, such as Europe/Berlin. Absent: UTC.",
                maxLength=MAX_ZONE,
                pattern=ZONE_PATTERN,
            ),
            **_said(),
        },
        _says_something(),
        required=("schedule", "duration"),
    )
    return listing("What is different again and again; one is stronger than those after it.", item, MAX_WINDOWS)


def _said() -> dict[str, Schema]:
    flavor: Schema = {**text("The flavor of an entry of the group.", maxLength=MAX_NAME), "default": "default"}
    numbers = {name: amounts(f"{says[:-1]}, of what the entry covers.") for name, says in _NUMBERS.items()}
    entry = record("The numbers that are different, of one flavor.", {"flavor": flavor, **numbers})
    return {
        "quotas": listing("The numbers that are different; all others stay.", entry, MAX_ENTRIES),
        "stopPolicy": word(
            "In place of the group's own, for the whole subtree.", "None", "Close", "Hold", "HoldAndDrain"
        ),
        "budgets": other_hours_schema(),
        "reason": text("Why, for people.", maxLength=MAX_REASON),
        "noticeBefore": duration("How long before it begins or ends those are given notice who go then."),
    }


def _says_something() -> Schema:
    return rule(
        "BadOverride",
        "(has(self.quotas) && size(self.quotas) > 0) || has(self.stopPolicy) || "
        "(has(self.budgets) && size(self.budgets) > 0)",
        "says nothing; write quotas, stopPolicy or budgets",
    )
