"""Overrides and windows of a group as a manifest has them, and back."""

from collections.abc import Callable
from typing import Any

import msgspec

from shared.api.durations import write_duration
from shared.api.json.reading import write_moment
from shared.api.quotagroup import QuotaGroupSpec
from shared.quota.model.read.timed import overrides_of, windows_of
from shared.quota.model.tree import Entry, Group, Override, Window

Manifest = dict[str, Any]


def write_timed(group: Group, write_entry: Callable[[Entry], Manifest]) -> Manifest:
    """The members `overrides` and `windows`; nothing of a group without."""

    def same(each: Override | Window) -> Manifest:
        policy = {"stopPolicy": each.stop_policy.value} if each.stop_policy is not None else {}
        quotas = [write_entry(entry) for entry in each.quotas]
        return {"quotas": quotas, "noticeBefore": write_duration(each.notice_before)} | policy

    overrides = [
        {"from": write_moment(each.start), "until": write_moment(each.end)} | same(each) for each in group.overrides
    ]
    windows = [
        {"schedule": each.schedule, "duration": write_duration(each.duration), "timeZone": each.zone} | same(each)
        for each in group.windows
    ]
    return {name: found for name, found in (("overrides", overrides), ("windows", windows)) if found}


def read_timed(spec: Manifest) -> tuple[tuple[Override, ...], tuple[Window, ...]]:
    """What `write_timed` wrote."""
    timed = {name: spec[name] for name in ("overrides", "windows") if name in spec}
    read = msgspec.convert(timed, QuotaGroupSpec)
    return tuple(overrides_of(read, [])), tuple(windows_of(read, []))
