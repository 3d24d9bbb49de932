"""Formats amounts with usual units: 1500m of cpu, 14.02Gi of memory."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from shared.resources import MAX_AMOUNT, Amount, is_counted_in_bytes, write_quantity

_UNITS = tuple((1 << 10 * (step + 1), f"{letter}i") for step, letter in reversed(list(enumerate("KMGTPE"))))
_MILLISECONDS: Final = 3_600_000
_HOURLY: Final = {"cpu": ("cores", 1000), "memory": ("GiB", 2**30), "ephemeral-storage": ("GiB", 2**30)}
_CENT: Final = Decimal("0.01")


def readable(resource: str, amount: Amount) -> str:
    """Return the amount, exact where that is short; bytes otherwise rounded to hundredths of the largest unit.

    The largest one that can be written stands for no bound, as of workloads.
    """
    if amount == MAX_AMOUNT:
        return "unbounded"
    exact = write_quantity(resource, amount)
    if not is_counted_in_bytes(resource) or len(exact) <= len("1023Mi"):
        return exact
    size, unit = next((size, unit) for size, unit in _UNITS if abs(amount) >= size)
    sign, hundredths = "-" if amount < 0 else "", (abs(amount) * 100 + size // 2) // size
    return f"{sign}{hundredths // 100}.{hundredths % 100:02}{unit}"


def unit_of(resource: str) -> str:
    """Return what hours of this resource count, such as GiB."""
    return _HOURLY.get(resource, (resource, 1))[0]


def hour_unit(resource: str) -> str:
    """Return what amounts of `hours` are called in a sentence, such as core-hours."""
    return "core-hours" if resource == "cpu" else f"{unit_of(resource)}-hours"


def hours(resource: str, amount: int) -> str:
    """Return base units times milliseconds as hours of the resource's unit, with two decimals."""
    found = Decimal(amount) / (_MILLISECONDS * _HOURLY.get(resource, ("", 1))[1])
    return str(found.quantize(_CENT, ROUND_HALF_EVEN))
