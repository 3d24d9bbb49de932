"""Amounts are written as people write them."""

import pytest

from shared.text.quantities import readable


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 60000, "60"),
        ("cpu", 1500, "1500m"),
        ("memory", 15059202363, "14.02Gi"),
        ("memory", 16 << 30, "16Gi"),
        ("memory", 1000, "1000"),
        ("memory", -15059202363, "-14.02Gi"),
        ("nvidia.com/gpu", 1234567, "1234567"),
    ],
)
def test_an_amount_is_short_and_has_a_unit(resource: str, amount: int, text: str) -> None:
    assert readable(resource, amount) == text
