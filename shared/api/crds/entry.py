"""The schema of `spec.quotas`, with the rules about the numbers of one group."""

from typing import Final

from shared.api.crds.parts import (
    MAX_ENTRIES,
    MAX_NAME,
    NAME,
    RESOURCE_NAME,
    Schema,
    amounts,
    listing,
    record,
    rule,
    rule_on_keys,
    text,
)

COMPARED_ENTRIES: Final = 16
"""Of longer lists the schema does not compare the entries: that would exceed what the API server spends on a rule."""
_TOP_CPU: Final = "9223372036854775.807"
_TOP: Final = "9223372036854775807"
_QUANTITY: Final = "quantity(string({}))"


def quotas_schema() -> Schema:
    """All entries of a group, unique by flavor."""
    rules = (_overlapping(field) for field in ("min", "max"))
    return listing(
        "In order of preference, one entry per flavor.", _entry_schema(), MAX_ENTRIES, *rules, key=("flavor",)
    )


def _entry_schema() -> Schema:
    return record(
        "One flavor's quota. It is about the resources that min or max names.",
        {
            "flavor": {
                **text("Name of a ResourceFlavor; `default` is one that exists from the start.", maxLength=MAX_NAME),
                "default": "default",
                "x-kubernetes-validations": [name_rule("flavor")],
            },
            "min": _amounts("Promised to the group; absent counts 0."),
            "max": _amounts("Never more than this; absent inherits the nearest ancestor's."),
            "borrowingLimit": _amounts("Never more than this above min; absent is up to max."),
            "lendingLimit": _amounts("Never lend more than this of min; absent is all of min."),
            "weight": _amounts("Share of what is left over, as a quantity; absent is max."),
        },
        _min_above_max(),
        _lending_above_min(),
        *(_uncovered(limit) for limit in ("borrowingLimit", "lendingLimit", "weight")),
    )


def name_rule(field: str) -> Schema:
    """The rule that a text is a name; `field` is how the message calls it."""
    return rule(
        "BadName",
        f"self.matches(r'{NAME}')",
        f"{field} is not a name; a name is at most {MAX_NAME} lower-case letters, digits, - and ., "
        "and begins and ends with a letter or digit",
    )


def _amounts(description: str) -> Schema:
    top = f"quantity(k == 'cpu' ? '{_TOP_CPU}' : '{_TOP}')"
    amount = _QUANTITY.format("self[k]")
    quantity = rule(
        "BadQuantity",
        f"self.all(k, !{amount}.isLessThan(quantity('0')) && !{amount}.isGreaterThan({top}))",
        "a quantity is at least 0 and below 2^63 base units",
    )
    name = rule(
        "BadName",
        f"self.all(k, size(k) <= 317 && k.matches(r'{RESOURCE_NAME}'))",
        "this is not the name of a resource; write one such as cpu, memory or nvidia.com/gpu",
    )
    return amounts(description, quantity, name)


def _min_above_max() -> Schema:
    low, high = "self.min[k]", "self.max[k]"
    above = f"has(self.max) && k in self.max && {_QUANTITY.format(low)}.isGreaterThan({_QUANTITY.format(high)})"
    message = "min of %s/%s is %s, max is %s; lower min to %s or raise max to %s"
    return rule_on_keys("MinAboveMax", "self.min", above, message, "self.flavor", "k", low, high, high, low)


def _lending_above_min() -> Schema:
    lent, low = "self.lendingLimit[k]", "(has(self.min) && k in self.min ? string(self.min[k]) : '0')"
    above = f"{_QUANTITY.format(lent)}.isGreaterThan(quantity({low}))"
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

    def some(of: str, quantifier: str) -> str:
        both = f"a.{of}.{quantifier}(k, k in b.min || k in b.max)"
        in_min, in_max = (f"a.{of}.{quantifier}(k, k in b.{bound})" for bound in ("min", "max"))
        none = "false" if quantifier == "exists" else f"size(a.{of}) == 0"
        return f"(has(b.min) ? (has(b.max) ? {both} : {in_min}) : (has(b.max) ? {in_max} : {none}))"

    common = f"has(a.{field}) && {some(field, 'exists')}"
    beyond = " || ".join(f"has(a.{of}) && !{some(of, 'all')}" for of in ("min", "max"))
    return rule(
        "OverlappingEntries",
        f"size(self) > {COMPARED_ENTRIES} || !self.exists(a, self.exists(b, {common} && ({beyond})))",
        "two entries cover the same resources or none in common: give both the same, or take out of one what both have",
    )
