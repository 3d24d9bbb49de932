"""Notes on work that change nothing but what is known: that it was adopted, is unready, is told, claims no more."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reconciler.report.events import WorkloadEvents
from reconciler.state.assumptions import Mark
from reconciler.state.workload_cache import WorkloadCache
from reconciler.write import annotations, patches
from reconciler.write.write_queue import WriteQueue
from shared.api.annotations import BadAnnotation
from shared.api.names import ADMISSION, EVICTION, NOTICE
from shared.quota.decide.decisions import ClaimEnd, Notice
from shared.quota.model.workload import Admission, Flavors, Workload

_ECHO: Final = timedelta(seconds=10)
"""By then the watch has shown a write, or has been found silent and is opened again."""


class Annotator:
    """Each note is assumed at once and written in its own task."""

    def __init__(self, work: WorkloadCache, writes: WriteQueue, telling: WorkloadEvents) -> None:
        self._work = work
        self._writes = writes
        self._telling = telling

    def adopt(self, unit: str, flavors: Flavors, now: datetime) -> None:
        """Count work that runs without an admission, and write the admission down."""
        objects = self._writes.free_objects(unit)
        workload = self._work.unadmitted_running.get(unit)
        if not objects or workload is None:
            return
        text = annotations.write_admission(flavors, now)
        adopted = replace(workload, admission=Admission(flavors, now), hold=False)
        if self._annotate(workload, adopted, {ADMISSION: text}, (ADMISSION, text)):
            self._telling.adopted(workload.group, objects, flavors)

    def note_unready(self, unit: str, now: datetime) -> None:
        """Write down since when work that was ready is not."""
        workload = self._work.workload(unit)
        if workload is None or workload.admission is None or not self._writes.free_objects(unit):
            return
        admission = replace(workload.admission, unready_since=workload.admission.unready_since or now)
        text = annotations.write_unready(admission)
        self._annotate(workload, replace(workload, admission=admission), {ADMISSION: text}, (ADMISSION, text))

    def give_notice(self, notice: Notice, now: datetime) -> None:
        """Tell a victim that it will be evicted."""
        text = annotations.write_notice(notice, now)
        told = replace(notice.workload, notice=now)
        if self._annotate(notice.workload, told, {NOTICE: text}, (NOTICE, text)):
            unit = self._work.unit_of(notice.workload)
            self._telling.noticed(notice, self._work.objects(unit) if unit else [])

    def withdraw_notice(self, workload: Workload) -> None:
        """It is not needed any more."""
        self._annotate(workload, replace(workload, notice=None), {NOTICE: None}, (NOTICE, None))

    def end_claim(self, ended: ClaimEnd) -> None:
        """Write on the victim that its claim has ended."""
        self._work.end_claim(ended.victim)
        unit = self._writes.free_unit(ended.victim)
        objects = self._writes.free_objects(unit) if unit else []
        for each in objects[:1]:
            try:
                text = annotations.end_claim(each.metadata.annotations, ended.reason)
            except BadAnnotation:
                text = None
            if text is not None:
                self._annotate(ended.victim, replace(ended.victim, claim=None), {EVICTION: text}, (EVICTION, text))

    def _annotate(self, before: Workload, after: Workload, written: patches.Notes, mark: Mark) -> bool:
        """Write these notes on all objects of the work; whether that was begun."""
        unit = self._writes.free_unit(before)
        if unit is None:
            return False
        objects = self._writes.free_objects(unit)
        self._work.assume(unit, after, mark)

        async def write() -> None:
            await self._writes.patch(unit, objects, lambda each: patches.annotate(each.metadata, written), mark)
            # Notes move no generation, and a later note may hide this one: do not wait for its echo indefinitely.
            asyncio.get_running_loop().call_later(_ECHO.total_seconds(), self._work.forget, unit, mark)

        self._writes.begin(unit, write())
        return True
