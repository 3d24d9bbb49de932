"""A book that adds up at once what the reconciler adds up in slices between its cycles."""

from collections.abc import Mapping
from datetime import datetime

from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.inputs.world import World
from shared.resources import Amount, FlavorResource


class PromptBook(AccountBook):
    """Its accounts are never in the middle of a sum."""

    def after(self, world: World, now: datetime, runtime: Mapping[FlavorResource, Amount] | None = None) -> None:
        """Count, and add up all that is due."""
        super().after(world, now, runtime)
        self.add_up_rest()
