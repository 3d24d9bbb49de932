"""What the webhook keeps of QuotaGroups: of their status, and which of them are stored."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.kube.client import Client
from shared.kube.watch.cache import Cache, Change, Changed
from shared.kube.watch.watches import Watches
from shared.quota.model.read.groups import read_group
from shared.quota.model.tree import ROOT, Group
from webhook.quota.edits import GROUP
from webhook.quota.stored.consistent_read import ConsistentReader
from webhook.quota.stored.quota_cache import QuotaCache, StoredGroup, group_record

STATUS = {
    "quotas": [
        {
            "flavor": "a100",
            "capacity": {"nvidia.com/gpu": "16"},
            "largestNodes": [{"nvidia.com/gpu": "8", "cpu": "64"}],
        },
        {"flavor": "t4", "capacity": {"cpu": "nonsense"}, "largestNodes": []},
        {"flavor": "many"},
    ]
}
NAMES = (ROOT, "a", "b", "c")


def test_largest_nodes_are_read_from_the_status_of_root() -> None:
    found = group_record(msgspec.json.encode({"metadata": {"name": "root"}, "spec": {}, "status": STATUS}))
    assert found.nodes == {"a100": ({"nvidia.com/gpu": 8, "cpu": 64000},), "t4": ()}
    assert found.capacity == {("a100", "nvidia.com/gpu"): 16}
    assert found.measured == {"a100", "t4", "many"}


@example([("root", "root", False), *((name, parent, False) for name in "abc" for parent in ("root", None))], [])
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([None, *NAMES]), st.booleans()), max_size=24),
    st.lists(st.integers(min_value=1, max_value=6), max_size=24),
)
def test_cached_groups_are_those_stored_however_events_are_batched(
    events: list[tuple[str, str | None, bool]], sizes: list[int]
) -> None:
    """Each event creates, changes or deletes (parent None) one group; a batch is what one read of the watch shows."""
    cache, watched = QuotaCache(cast("Client", None), Watches()), Cache(group_record)
    stored: dict[str, dict[str, Any]] = {}
    changes: list[Change[StoredGroup]] = []
    batch_ends = {sum(sizes[: at + 1]) for at in range(len(sizes))}
    for version, (name, parent, leaving) in enumerate(events, 1):
        change = None
        if parent is None and name in stored:
            change = watched.drop(msgspec.json.encode(stored.pop(name)))[1]
        elif parent is not None:
            uid = stored[name]["metadata"]["uid"] if name in stored else f"{name}-{version}"
            metadata = {"name": name, "uid": uid, "resourceVersion": str(version)}
            if leaving:
                metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            stored[name] = {"metadata": metadata, "spec": {"parent": parent}}
            change = watched.put(msgspec.json.encode(stored[name]))[1]
        changes += [change] if change is not None else []
        if version in batch_ends:
            cache.observe_groups(changes)
            changes = []
    cache.observe_groups(changes)

    found = cache.stored()
    records = {name: group_record(msgspec.json.encode(each)) for name, each in stored.items()}
    groups = {name: group for name, group in found.tree.groups.items() if name in stored or name != ROOT}
    assert groups == {name: record.group for name, record in records.items()}
    assert found.leaving == {name for name, record in records.items() if record.leaving}
    for name in NAMES:
        version_of = found.version(GROUP, name)
        assert (version_of.resource_version if version_of else None) == (
            records[name].resource_version if name in records else None
        )


async def test_group_that_cannot_be_read_does_not_keep_others_from_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stored:
        async def list_pages(self, *_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
            names = ("good", "bad")
            items = [msgspec.Raw(msgspec.json.encode({"metadata": {"name": each, "uid": each}})) for each in names]
            yield SimpleNamespace(items=items, resource_version="7")

    def failing(raw: bytes) -> Group:
        if b"bad" in bytes(raw):
            raise LookupError
        return read_group(raw)

    monkeypatch.setattr("webhook.quota.stored.consistent_read.read_group", failing)
    stored = await ConsistentReader(cast("Client", Stored())).read(flavors=False)
    assert {"good", "bad"} <= stored.tree.groups.keys()


def test_reviews_of_workloads_see_the_tree_in_force() -> None:
    closes = {"from": "2027-01-01T00:00:00Z", "until": "2027-01-02T00:00:00Z", "stopPolicy": "Close"}
    body = {"metadata": {"name": "vision", "uid": "1", "resourceVersion": "1"}, "spec": {"overrides": [closes]}}
    cache = QuotaCache(cast("Client", SimpleNamespace()), cast("Watches", SimpleNamespace(add=lambda watch: watch)))
    cache.observe_groups([Changed(None, group_record(msgspec.json.encode(body)))])
    days = [datetime(2026, 12, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 2, tzinfo=UTC)]
    assert [cache.tree_at(day)["vision"].stop_policy.value for day in days] == ["None", "Close", "None"]
    assert cache.tree_at(days[2]) is cache.tree_at(days[2])
