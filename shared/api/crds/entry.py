"""The schema of one entry of `spec.quotas`, with the rules about one entry."""

from typing import Final

from shared.api.crds.parts import NAME, RESOURCE_NAME, Schema, amounts, record, rule, text

_LIMITS: Final = ("min", "max", "borrowingLimit", "lendingLimit", "weight")
_TOP_CPU: Final = "9223372036854775.807"
_TOP: Final = "9223372036854775807"


def entry_schema() -> Schema:
    """One flavor's quota of one group."""
    return record(
        "One flavor's quota. It is about the resources that min or max names.",
        {
            "flavor": {
                **text("Name of a ResourceFlavor; `default` is one that exists from the start.", maxLength=63),
                "default": "default",
                "x-kubernetes-validations": [_flavor_name()],
            },
            "min": _amounts("min", "Promised to the group; absent counts 0."),
            "max": _amounts("max", "Never more than this; absent inherits the nearest ancestor's."),
            "borrowingLimit": _amounts("borrowingLimit", "Never more than this above min; absent is up to max."),
            "lendingLimit": _amounts("lendingLimit", "Never lend more than this of min; absent is all of min."),
            "weight": _amounts("weight", "Share of what is left over, as a quantity; absent is max."),
        },
        _at_most("MinAboveMax", "min", "max", "self.max", "has(self.min) && has(self.max)"),
        _lending_within_min(),
        *(_covers(limit) for limit in ("borrowingLimit", "lendingLimit", "weight")),
    )


def _flavor_name() -> Schema:
    return rule(
        "BadName",
        f"self.matches('{NAME}')",
        "'flavor \"' + self + '\" is not a name; a name is at most 63 lower-case letters, digits, - and ., "
        "and begins and ends with a letter or digit'",
    )


def _amounts(field: str, description: str) -> Schema:
    top = f"quantity(k == 'cpu' ? '{_TOP_CPU}' : '{_TOP}')"
    bad = f"quantity(string(self[k])).sign() < 0 || quantity(string(self[k])).isGreaterThan({top})"
    quantity = rule(
        "BadQuantity",
        f"!self.exists(k, {bad})",
        f"self.filter(k, {bad}).map(k, '{field} of ' + k + ' is ' + string(self[k])).min() "
        "+ '; a quantity is at least 0 and below 2^63 base units'",
    )
    name = rule(
        "BadName",
        f"self.all(k, k.matches('{RESOURCE_NAME}'))",
        f"'{field} names a resource \"' + self.filter(k, !k.matches('{RESOURCE_NAME}')).min() "
        "+ '\"; write one such as cpu, memory or nvidia.com/gpu'",
    )
    return amounts(description, quantity, name)


def _quantity(field: str) -> str:
    return f"quantity(string(self.{field}[k]))"


def _at_most(code: str, low: str, high: str, _: str, both: str) -> Schema:
    above = f"k in self.{high} && {_quantity(low)}.isGreaterThan({_quantity(high)})"
    key = f"self.{low}.filter(k, {above}).min()"
    return rule(
        code,
        f"!({both}) || !self.{low}.exists(k, {above})",
        f"[{key}].map(k, '{low} of ' + self.flavor + '/' + k + ' is ' + string(self.{low}[k]) + ', {high} is ' "
        f"+ string(self.{high}[k]) + '; lower {low} to ' + string(self.{high}[k]) + ' or raise {high} to ' "
        f"+ string(self.{low}[k])).min()",
    )


def _lending_within_min() -> Schema:
    low = "(has(self.min) && k in self.min ? string(self.min[k]) : '0')"
    above = f"{_quantity('lendingLimit')}.isGreaterThan(quantity({low}))"
    key = f"self.lendingLimit.filter(k, {above}).min()"
    return rule(
        "LendingLimitAboveMin",
        f"!has(self.lendingLimit) || !self.lendingLimit.exists(k, {above})",
        f"[{key}].map(k, 'lendingLimit of ' + self.flavor + '/' + k + ' is ' + string(self.lendingLimit[k]) "
        f"+ ', min is ' + {low} + '; lower lendingLimit to ' + {low} + ' or raise min to ' "
        "+ string(self.lendingLimit[k])).min()",
    )


def _covers(limit: str) -> Schema:
    covered = "(has(self.min) && k in self.min) || (has(self.max) && k in self.max)"
    return rule(
        "UncoveredResource",
        f"!has(self.{limit}) || self.{limit}.all(k, {covered})",
        f"'{limit} names ' + self.{limit}.filter(k, !({covered})).min() + ', which the entry of ' + self.flavor "
        f"+ ' does not cover; name it in min or max, or take it out of {limit}'",
    )
