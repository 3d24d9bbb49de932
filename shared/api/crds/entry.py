"""The schema of `spec.quotas`, with the rules about the numbers of one group."""

from typing import Final

from shared.api.crds.parts import (
    COUNT,
    MAX_ENTRIES,
    MAX_NAME,
    MAX_REQUESTER,
    MAX_WEIGHTS,
    NAME,
    NOT_COUNTED,
    QUANTITY_OR_PERCENT,
    RULES,
    Schema,
    amounts,
    listing,
    not_a_key,
    record,
    rule,
    rule_on_keys,
    rule_on_own_keys,
    text,
)
from shared.api.names import COUNTED, COUNTS
from shared.percents import PERCENT
from shared.resources import OUT_OF_RANGE

COMPARED_ENTRIES: Final = 16
"""Of longer lists the schema does not compare the entries: that would exceed what the API server spends on a rule. Nor
does it where one of them names counts, which are no part of what must be the same."""
_TOP_CPU: Final = "9223372036854775.807"
_TOP: Final = "9223372036854775807"
_LONG_EXPONENT: Final = r"[eE].{4}"
"""Reading 1e999999999 would keep the API server busy without end: it makes a number of a billion digits."""


_BOUNDS: Final = ("min", "max")
NO_FLAVOR: Final = "counts is no flavor: it stands for that of pods and workloads, which have none; leave flavor out"
_SAME_OR_NONE: Final = (
    "two entries cover the same resources or none in common: give both the same, or take out of one what both have"
)


def quotas_schema() -> Schema:
    """Return all entries of a group, unique by flavor."""
    rules = (_overlapping(field) for field in _BOUNDS)
    return listing(
        "In order of preference, one entry per flavor.", _entry_schema(), MAX_ENTRIES, *rules, key=("flavor",)
    )


def _entry_schema() -> Schema:
    return record(
        "One flavor's quota. It covers the resources that min or max names.",
        {
            "flavor": {
                **text("The ResourceFlavor. `default` exists from the start.", maxLength=MAX_NAME),
                "default": "default",
                RULES: [name_rule("flavor"), rule("BadField", f"self != '{COUNTS}'", NO_FLAVOR)],
            },
            "min": _amounts(
                "min",
                "What the group is promised. Absent counts 0. Limits are amounts or percents, such as 40%.",
            ),
            "max": _amounts("max", "The most that the group may use. Absent: that of the nearest ancestor."),
            "borrowingLimit": _amounts("borrowingLimit", "How far above min the group may go. Absent: up to max."),
            "lendingLimit": _amounts(
                "lendingLimit", "How much of min others may use while it is idle. Absent: all of it."
            ),
            "weight": _amounts(
                "weight", "The group's share of what is left over, in proportion, as a quantity. Absent: as max."
            ),
        },
        _count_of_flavor(),
        _min_above_max(),
        _lending_above_min(),
        *(_uncovered(limit) for limit in ("borrowingLimit", "lendingLimit", "weight")),
    )


def name_rule(field: str) -> Schema:
    """Return the rule that a text is a name; `field` is how the message calls it."""
    return rule(
        "BadName",
        f"self.matches(r'{NAME}')",
        f"{field} is not a name; a name is at most {MAX_NAME} lower-case letters, digits, - and ., "
        "and begins and ends with a letter or digit",
    )


def _quantity(value: str) -> str:
    """CEL that reads a quantity, of a percent the number; 0 for what is not read, which the pattern refuses."""
    return f"quantity(string({value}).matches(r'{_LONG_EXPONENT}') ? '0' : string({value}).replace('%', ''))"


def _are_comparable(one: str, other: str) -> str:
    """CEL for: both are percents, or neither is; else what they come to decides, which the schema does not know."""
    return f"string({one}).endsWith('%') == string({other}).endsWith('%')"


def _amounts(limit: str, description: str) -> Schema:
    top = f"quantity(k == 'cpu' ? '{_TOP_CPU}' : '{_TOP}')"
    amount = _quantity("self[k]")
    quantity = rule_on_own_keys(
        "BadQuantity",
        f"{amount}.isLessThan(quantity('0')) || {amount}.isGreaterThan({top})",
        f"{limit} of %s: %s {OUT_OF_RANGE}",
        "k",
        "string(self[k])",
    )
    name = rule_on_own_keys(
        "BadName",
        not_a_key("k"),
        f'{limit} names a resource "%s"; write one such as cpu, memory or nvidia.com/gpu',
        "k",
    )
    whole = rule_on_own_keys(
        "BadQuantity",
        f"k in {list(COUNTED)} && !string(self[k]).matches(r'^({COUNT}|{PERCENT})$')",
        f"{limit} of %s: %s {NOT_COUNTED}",
        "k",
        "string(self[k])",
    )
    return amounts(description, quantity, name, whole, pattern=QUANTITY_OR_PERCENT)


def order_weights() -> Schema:
    """Return the weights of namespaces or users in the order of a leaf."""
    weight = rule_on_own_keys(
        "BadWeight",
        f"{_quantity('self[k]')}.isLessThan(quantity('0'))",
        "the weight of %s is %s; write 0 or more",
        "k",
        "string(self[k])",
    )
    name = rule_on_own_keys(
        "BadWeight",
        f"size(k) == 0 || size(k) > {MAX_REQUESTER}",
        f'"%s" names nobody; write a namespace or a user of at most {MAX_REQUESTER} characters',
        "k",
    )
    schema = amounts("How much of the leaf a namespace or user gets in proportion to others. Absent: 1.", weight, name)
    return {**schema, "maxProperties": MAX_WEIGHTS}


def _count_of_flavor() -> Schema:
    """Pods and workloads have no flavor; other limits name only what min or max does."""
    return rule(
        "CountOfFlavor",
        f"self.flavor == 'default' || !({_names_counts('self')})",
        "names pods or workloads of a flavor, and counts have none: name them in an entry without flavor",
    )


def _names_counts(entry: str) -> str:
    """CEL for: the entry names pods or workloads in min or max."""
    named = ((of, " || ".join(f"'{each}' in {entry}.{of}" for each in COUNTED)) for of in _BOUNDS)
    return " || ".join(f"has({entry}.{of}) && ({counts})" for of, counts in named)


def _min_above_max() -> Schema:
    low, high = "self.min[k]", "self.max[k]"
    above = (
        f"has(self.max) && k in self.max && {_are_comparable(low, high)} && "
        f"{_quantity(low)}.isGreaterThan({_quantity(high)})"
    )
    message = "min of %s/%s is %s, max is %s; lower min to %s or raise max to %s"
    return rule_on_keys("MinAboveMax", "self.min", above, message, "self.flavor", "k", low, high, high, low)


def _lending_above_min() -> Schema:
    lent, has_min = "self.lendingLimit[k]", "(has(self.min) && k in self.min)"
    low = f"({has_min} ? string(self.min[k]) : '0')"
    above = (
        f"(!{has_min} || {_are_comparable(lent, 'self.min[k]')}) && "
        f"{_quantity(lent)}.isGreaterThan({has_min} ? {_quantity('self.min[k]')} : quantity('0'))"
    )
    message = "lendingLimit of %s/%s is %s, min is %s; lower lendingLimit to %s or raise min to %s"
    words = ("self.flavor", "k", lent, low, low, lent)
    return rule_on_keys("LendingLimitAboveMin", "self.lendingLimit", above, message, *words)


def _uncovered(limit: str) -> Schema:
    covered = "(has(self.min) && k in self.min || has(self.max) && k in self.max)"
    message = (
        f"{limit} names %s, which the entry of %s does not cover; name it in min or max, or take it out of {limit}"
    )
    return rule_on_keys("UncoveredResource", f"self.{limit}", f"!{covered}", message, "k", "self.flavor")


def _overlapping(field: str) -> Schema:
    """No entry has a resource of its `field` in common with another entry that does not cover all it covers."""

    def each(of: str, call: str, none: str) -> str:
        """`call` on the resources of a's `of` that b covers; the branches, because the estimate takes the dearest."""
        both = f"a.{of}.{call}(k, k in b.min || k in b.max)"
        in_min, in_max = (f"a.{of}.{call}(k, k in b.{bound})" for bound in _BOUNDS)
        return f"(has(b.min) ? (has(b.max) ? {both} : {in_min}) : (has(b.max) ? {in_max} : {none}))"

    common = f"has(a.{field}) && {each(field, 'exists', 'false')}"
    beyond = " || ".join(f"has(a.{of}) && !{each(of, 'all', f'size(a.{of}) == 0')}" for of in _BOUNDS)
    is_not_compared = f"size(self) > {COMPARED_ENTRIES} || self.exists(q, {_names_counts('q')})"
    return {
        **rule(
            "OverlappingEntries",
            f"{is_not_compared} || !self.exists(a, self.exists(b, {common} && ({beyond})))",
            f"two entries have something in common and not all; {_SAME_OR_NONE}",
        ),
        "messageExpression": _overlapping_message(field, each(field, "all", "true")),
    }


def _overlapping_message(field: str, all_covered: str) -> str:
    """CEL of the sentence that names the two flavors and the first resource that both have in `field`.

    Where what they have in common stands in different fields it fails, and the API server takes the rule's message:
    looking for that too would exceed what it spends on a message.
    """
    both = f"has(a.{field}) && has(b.{field}) && a.{field}.exists(k, k in b.{field}) && !{all_covered}"
    message = f"%s and %s have %s in common and not all; {_SAME_OR_NONE} (OverlappingEntries)"
    text = f"'{message}'.format([a.flavor, b.flavor, a.{field}.filter(k, k in b.{field})[0]])"
    return f"self.map(a, self.map(b, {both}, {text})).filter(found, size(found) > 0)[0][0]"
