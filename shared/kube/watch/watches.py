"""All watches of a process: run together, and judged together for readiness."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from shared.kube.watch.watching import Watch

R = TypeVar("R")


@dataclass(slots=True)
class Watches:
    """All watches of a process."""

    members: list[Watch[Any]] = field(default_factory=list)

    def add(self, watch: Watch[R]) -> Watch[R]:
        """Add a watch, before `run`; returns it."""
        self.members.append(watch)
        return watch

    async def run(self) -> None:
        """Run all watches indefinitely."""
        async with asyncio.TaskGroup() as group:
            for watch in self.members:
                group.create_task(watch.run(), name=f"watch {watch.resource.plural}")

    async def all_synced(self) -> None:
        """Return when every sink has the complete first list."""
        for watch in self.members:
            await watch.synced.wait()

    def problem(self, silence: timedelta = timedelta(minutes=3)) -> str | None:
        """For readiness: the first watch that has not synced or is silent for `silence`; None if all are well."""
        for watch in self.members:
            name, quiet, trouble = watch.resource.plural, watch.health.quiet_seconds(), watch.health.trouble
            if not watch.synced.is_set():
                return f"watch of {name} has not synced: {trouble or 'listing'}"
            if quiet > silence.total_seconds():
                return f"watch of {name} heard nothing for {quiet:.0f} s: {trouble or 'silent'}"
        return None
