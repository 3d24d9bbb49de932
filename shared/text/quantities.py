"""Formats amounts with usual units: 1500m of cpu, 14.02Gi of memory."""

from shared.resources import Amount, is_counted_in_bytes, write_quantity

_UNITS = tuple((1 << 10 * (step + 1), f"{letter}i") for step, letter in reversed(list(enumerate("KMGTPE"))))


def readable(resource: str, amount: Amount) -> str:
    """Return the amount, exact where that is short; bytes otherwise rounded to hundredths of the largest unit."""
    exact = write_quantity(resource, amount)
    if not is_counted_in_bytes(resource) or len(exact) <= len("1023Mi"):
        return exact
    size, unit = next((size, unit) for size, unit in _UNITS if abs(amount) >= size)
    sign, hundredths = "-" if amount < 0 else "", (abs(amount) * 100 + size // 2) // size
    return f"{sign}{hundredths // 100}.{hundredths % 100:02}{unit}"
