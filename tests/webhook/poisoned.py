"""`python -m tests.webhook.poisoned --config FILE`: a webhook whose rule about sums fails on 13 gpus."""

import sys
from collections.abc import Iterable

from shared.quota.model.rules.groups.numbers import sums
from shared.quota.model.tree import Group
from shared.resources import Amount, FlavorResource
from tests.trees import GPU

UNLUCKY = 13
sum_of_min = sums.sum_of_min


class PoisonedRule(Exception):
    """The fault."""


def failing_sum(groups: Iterable[Group]) -> dict[FlavorResource, Amount]:
    """Return the sum, but not with a min of 13 gpus in it."""
    found = list(groups)
    if any(entry.min.get(GPU) == UNLUCKY for each in found for entry in each.quotas):
        raise PoisonedRule
    return sum_of_min(found)


def main() -> int:
    from webhook.__main__ import main as run

    sums.sum_of_min = failing_sum
    return run()


if __name__ == "__main__":
    sys.exit(main())
