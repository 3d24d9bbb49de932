"""The numbers under the names that people see: in `simulate`, `tree`, the status and the metrics.

See docs/specification.md §2.9 and §3.9.
"""

from collections.abc import Sequence
from typing import Final

from shared.quota.measure.group_usage import GroupNumbers, Numbers
from shared.resources import Amount

Words = dict[str, Amount]
"""word -> amount, in base units; every word of WORDS."""

WORDS: Final = {
    "min": "min",
    "effectiveMin": "effective_min",
    "guarantee": "guarantee",
    "ceiling": "ceiling",
    "weight": "weight",
    "request": "request",
    "used": "used",
    "nonPreemptible": "non_preemptible",
    "charge": "charge",
    "demand": "demand",
    "runtime": "runtime",
    "borrowed": "borrowed",
    "lendable": "lendable",
}
"""word as JSON spells it -> the name of the field of Numbers."""


def words_of(numbers: Numbers) -> Words:
    """Return one group's numbers for one key."""
    return {word: getattr(numbers, name) for word, name in WORDS.items()}


def report_of(numbers: GroupNumbers, preference: Sequence[str] = ()) -> dict[str, dict[str, Words]]:
    """Return one group's numbers: flavor -> resource -> words; flavors in order of preference, then by name."""
    place = {flavor: index for index, flavor in enumerate(preference)}
    found: dict[str, dict[str, Words]] = {}
    for key in sorted(numbers, key=lambda key: (place.get(key.flavor, len(place)), key)):
        found.setdefault(key.flavor, {})[key.resource] = words_of(numbers[key])
    return found
