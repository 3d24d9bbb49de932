"""Exact amounts of resources, and Kubernetes' quantity text in and out.

An Amount is a whole number of a resource's base unit: millicores for cpu, the plain unit (bytes, devices) for
every other resource. Text is read exactly as `k8s.io/apimachinery/pkg/api/resource` reads it, then rounded up.

See docs/specification.md §2.7.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

Amount = int

MAX_AMOUNT: Final = 2**63 - 1
"""The largest amount that may be written: Kubernetes keeps quantities in 64 bits."""

MAX_QUANTITY_LENGTH: Final = 64
"""Longer texts are refused before any arithmetic: `int()` of a megabyte of digits would stall the process."""

OUT_OF_RANGE: Final = "is out of range; a quantity is at least 0 and below 2^63 base units"

_NANO: Final = 10**9
_MAX_EXPONENT: Final = 100
_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?|\.(?P<only>[0-9]+))"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?",
    re.ASCII,
)
_DECIMAL: Final = {"n": 0, "u": 3, "m": 6, None: 9, "k": 12, "M": 15, "G": 18, "T": 21, "P": 24, "E": 27}
_BINARY: Final = {f"{letter}i": 1 << 10 * (step + 1) for step, letter in enumerate("KMGTPE")}
_WRITTEN_DECIMAL: Final = {suffix: 10 ** (_DECIMAL[suffix] - 9) for suffix in "MGTPE"}
_WRITTEN: Final = tuple(sorted(((size, suffix) for suffix, size in (_BINARY | _WRITTEN_DECIMAL).items()), reverse=True))


class FlavorResource(NamedTuple):
    """The accounting key: one resource of one flavor."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}"


@lru_cache(maxsize=65536)
def key_of(flavor: str, resource: str) -> FlavorResource:
    """Return the accounting key, one object for each; there are at most flavors times resources."""
    return FlavorResource(flavor, resource)


@lru_cache(maxsize=65536)
def keys_in(flavor: str, resources: tuple[str, ...]) -> tuple[FlavorResource, ...]:
    """Return the accounting keys of these resources in one flavor, in their order."""
    return tuple([key_of(flavor, each) for each in resources])


def quantities_in(
    request: Mapping[str, Amount], resources: tuple[str, ...], flavor: str
) -> tuple[tuple[FlavorResource, Amount], ...]:
    """Return what is requested of these resources, all of which `request` names, by key in one flavor."""
    return tuple(zip(keys_in(flavor, resources), [request[each] for each in resources], strict=True))


class QuantityError(ValueError):
    """A quantity that Kubernetes would not read, or that is out of range; the message says which."""


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> int:
    """Return the quantity in units of 1e-9, rounded away from zero. Raises QuantityError off the grammar."""
    if len(text) > MAX_QUANTITY_LENGTH:
        raise QuantityError(f"a quantity has at most {MAX_QUANTITY_LENGTH} characters, this one has {len(text)}")
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text!r} is not a quantity; write for example 4, 500m, 1.5 or 16Gi")
    part = match["part"] if match["only"] is None else match["only"]
    digits = int((match["whole"] or "0") + (part or ""))
    scale = len(part or "")
    nano = _scaled(text, digits, scale, match)
    return -nano if match["sign"] == "-" else nano


def _scaled(text: str, digits: int, scale: int, match: re.Match[str]) -> int:
    if match["binary"]:
        nano = -(-digits * _BINARY[match["binary"]] * _NANO // _ten_to(scale))
        return min(nano, MAX_AMOUNT * _NANO)
    if not digits:
        return 0
    power = (9 + int(match["exponent"]) if match["exponent"] else _DECIMAL[match["decimal"]]) - scale
    if power > _MAX_EXPONENT:
        raise QuantityError(f"{text} {OUT_OF_RANGE}")
    if power < -_MAX_EXPONENT:
        return 1
    return digits * _ten_to(power) if power >= 0 else -(-digits // _ten_to(-power))


def _ten_to(power: int) -> int:
    return int(10**power)


def parse_number(quantity: str | int | float) -> int:
    """Return a quantity as JSON or YAML may hold it in units of 1e-9. Raises QuantityError when it is not one.

    A number counts as the text it would be written as: Kubernetes reads `cpu: 0.5` like `cpu: "0.5"`.
    """
    if isinstance(quantity, str):
        return parse_quantity(quantity)
    if isinstance(quantity, bool) or not isinstance(quantity, (int, float)):
        raise QuantityError(f"{quantity!r:.64} is not a quantity; write a whole number or text such as 500m or 16Gi")
    if isinstance(quantity, float):
        return parse_quantity(repr(quantity))
    if abs(quantity) > MAX_AMOUNT:
        raise QuantityError(f"{_show(quantity)} {OUT_OF_RANGE}")
    return quantity * _NANO


def read_amount(resource: str, quantity: str | int | float, *, up: bool = True) -> Amount:
    """Return `quantity` in base units of `resource`, rounded up, or down for what is offered rather than requested.

    May be negative; rules say what is allowed. Raises QuantityError when the text is not a quantity or its value
    does not fit in 64 bits.
    """
    nano = parse_number(quantity)
    per_unit = _NANO // 1000 if resource == "cpu" else _NANO
    amount = -(-nano // per_unit) if up else nano // per_unit
    if abs(amount) > MAX_AMOUNT:
        raise QuantityError(f"{_show(quantity)} {OUT_OF_RANGE}")
    return amount


def _show(quantity: object) -> str:
    """Return the quantity for a message, cut short; `str()` of an int with thousands of digits is itself an error."""
    if isinstance(quantity, int) and not isinstance(quantity, bool) and quantity.bit_length() > 256:
        return f"a number of {quantity.bit_length()} bits"
    return str(quantity)[:MAX_QUANTITY_LENGTH]


def write_quantity(resource: str, amount: Amount) -> str:
    """Return `amount` as a person would write it: 1500 of cpu is "1500m", 2**30 of memory is "1Gi".

    Bytes take the largest unit that divides them: 2 * 10**9 of memory is "2G", not "1953125Ki".
    """
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if not is_counted_in_bytes(resource):
        return str(amount)
    for size, suffix in _WRITTEN:
        if amount and amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def sum_amounts(parts: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    """Return the sum of amounts by resource."""
    total: dict[str, Amount] = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def is_counted_in_bytes(resource: str) -> bool:
    """Return whether people write this resource with Ki, Mi, Gi."""
    return resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-")
