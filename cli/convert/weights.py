"""Weights that are one number for a group: Quotree writes a weight for each resource, in whole units."""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

from cli.convert.conversion import where
from cli.convert.draft import QuotaGroupDraft
from cli.read.manifests import Manifest
from shared.problems import Problem
from shared.resources import QuantityError, parse_number, read_amount


class Weights:
    """The weights that were written, by group."""

    def __init__(self) -> None:
        self._written: dict[str, Fraction] = {}

    def add(self, manifest: Manifest, draft: QuotaGroupDraft, weight: int | float | str | None) -> None:
        """Add the weight of a group; None: it has none. Raises Problem when it is no number."""
        if weight is None:
            return
        try:
            self._written[draft.name] = Fraction(parse_number(weight), 10**9)
        except QuantityError as error:
            raise Problem(f"{where(manifest, 'weight')}: {error}") from error

    def write(self, groups: Mapping[str, QuotaGroupDraft]) -> None:
        """Give each group with a weight, and its siblings, the weight for every resource; without one it is 1.

        All are multiplied by one number that makes them whole: 0.5 and 1 become 1 and 2.
        """
        scale = lcm(*(weight.denominator for weight in self._written.values()))
        weighted = {groups[name].parent for name in self._written}
        for draft in groups.values():
            if draft.parent in weighted:
                weight = int(self._written.get(draft.name, Fraction(1)) * scale)
                for key in list(draft.keys()):
                    draft.set("weight", {key.resource: read_amount(key.resource, weight)}, key.flavor)
