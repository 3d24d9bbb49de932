"""Objects and manifests become groups and flavors: whole, or less what cannot be read, never a strange exception."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api.core.placement import Requirement, Taint, Toleration
from shared.api.core.selectors import LabelSelector
from shared.api.json.reading import Unreadable
from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor, read_flavor_manifest, read_group, read_group_manifest
from shared.quota.model.settings import BlockAdmission, ReclaimMode
from shared.quota.model.tree import (
    Entry,
    Group,
    Preemption,
    QueueingStrategy,
    ReclaimOverrides,
    StartupOverrides,
    StopPolicy,
    Tree,
    WhenCanBorrow,
    WhenCanReclaim,
)

WHOLE = {
    "apiVersion": "quotree.dev/v1alpha1",
    "kind": "QuotaGroup",
    "metadata": {"name": "vision", "uid": "u1", "creationTimestamp": "2026-03-01T12:00:00Z", "generation": 3},
    "spec": {
        "parent": "research",
        "isParent": False,
        "quotas": [
            {
                "flavor": "a100",
                "min": {"cpu": 64, "memory": "512Gi", "nvidia.com/gpu": 8},
                "max": {"cpu": "128", "memory": "1Ti", "nvidia.com/gpu": "16"},
                "borrowingLimit": {"nvidia.com/gpu": 4},
                "lendingLimit": {"nvidia.com/gpu": 6},
                "weight": {"nvidia.com/gpu": 3},
            },
            {"min": {"cpu": "500m"}},
        ],
        "allowLending": False,
        "namespaceSelector": {
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "stage", "operator": "In", "values": ["dev", "test"]}],
        },
        "queueing": {"strategy": "StrictFIFO", "patience": "20m"},
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanReclaim": "Reclaim"},
        "preemption": {"withinGroup": "Never"},
        "reclaim": {"mode": "Strict", "gracePeriod": "30s", "notice": "1m", "claimTimeout": "1h30m"},
        "startup": {"waitForPodsReady": True, "blockAdmission": "Group", "backoffBase": "250ms", "limit": 3},
        "stopPolicy": "HoldAndDrain",
    },
    "status": {"conditions": [], "quotas": []},
}
READ = Group(
    name="vision",
    parent="research",
    is_parent=False,
    quotas=(
        Entry(
            "a100",
            min={"cpu": 64_000, "memory": 512 << 30, "nvidia.com/gpu": 8},
            max={"cpu": 128_000, "memory": 1 << 40, "nvidia.com/gpu": 16},
            borrowing_limit={"nvidia.com/gpu": 4},
            lending_limit={"nvidia.com/gpu": 6},
            weight={"nvidia.com/gpu": 3},
        ),
        Entry("default", min={"cpu": 500}),
    ),
    allow_lending=False,
    namespace_selector=LabelSelector({"team": "a"}, (Requirement("stage", "In", ("dev", "test")),)),
    queueing=QueueingStrategy.STRICT_FIFO,
    patience=timedelta(minutes=20),
    when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR,
    when_can_reclaim=WhenCanReclaim.RECLAIM,
    preemption=Preemption.NEVER,
    reclaim=ReclaimOverrides(
        ReclaimMode.STRICT, timedelta(seconds=30), timedelta(minutes=1), None, timedelta(minutes=90)
    ),
    startup=StartupOverrides(True, BlockAdmission.GROUP, backoff_base=timedelta(milliseconds=250), limit=3),
    stop_policy=StopPolicy.HOLD_AND_DRAIN,
    uid="u1",
    created=datetime(2026, 3, 1, 12, tzinfo=UTC),
)


def test_group_is_read_equally_from_json_and_manifest() -> None:
    assert read_group(json.dumps(WHOLE).encode()) == READ
    assert read_group_manifest(WHOLE) == READ


def test_when_notice_of_a_border_is_due_is_read_from_overrides_and_windows() -> None:
    override = {"from": "2027-01-01T00:00:00Z", "until": "2027-01-02T00:00:00Z"}
    window = {"schedule": "0 20 * * *", "duration": "10h"}
    spec = {
        "overrides": [override, override | {"noticeBefore": "2h"}],
        "windows": [window | {"noticeBefore": "30m"}, window],
    }
    found = read_group_manifest({"metadata": {"name": "a"}, "spec": spec})
    assert [each.notice_before for each in found.overrides] == [timedelta(), timedelta(hours=2)]
    assert [each.notice_before for each in found.windows] == [timedelta(minutes=30), timedelta()]


def test_an_empty_group_is_a_leaf_below_root() -> None:
    assert read_group(b'{"metadata": {"name": "a"}}') == Group("a")
    assert read_group_manifest({"metadata": {"name": "a"}, "spec": None}) == Group("a")


def test_only_root_has_no_parent() -> None:
    assert read_group(b'{"metadata": {"name": "root"}}').parent is None
    assert read_group(b'{"metadata": {"name": "a"}, "spec": {"parent": ""}}').parent == ""


def test_flavor_is_read_with_every_field() -> None:
    manifest = {
        "metadata": {"name": "a100", "uid": "u2"},
        "spec": {
            "nodeLabels": {"accelerator": "a100"},
            "nodeTaints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}, {"key": "x", "value": "1"}],
        },
    }
    flavor = Flavor(
        "a100",
        {"accelerator": "a100"},
        (Taint("gpu", "NoSchedule", "true"),),
        (Toleration("gpu", "Exists"), Toleration("x", "Equal", "1")),
        uid="u2",
    )
    assert read_flavor(json.dumps(manifest).encode()) == flavor
    assert read_flavor_manifest(manifest) == flavor


def test_all_errors_of_a_manifest_are_reported_and_the_rest_is_read() -> None:
    broken = {
        "metadata": {"name": "a", "labels": {"x": 1}},
        "extra": 1,
        "spec": {
            "isParent": "no",
            "colour": "red",
            "parent": 7,
            "quotas": [
                {"min": {"cpu": [1], "memory": "1Gi", "gpu": "1.5.2", "disk": 1.5}, "max": "all"},
                "none",
            ],
            "reclaim": {"gracePeriod": "soon"},
            "startup": {"limit": True},
            "namespaceSelector": {"matchExpressions": [{"key": "a"}]},
        },
    }
    group = read_group_manifest(broken)
    assert group.quotas == (Entry("default", min={"memory": 1 << 30}),)
    found = rules.check_tree(Tree.of([group]), rules.Context()).violations
    assert sorted((each.rule, each.field) for each in found) == [
        ("BadField", "extra"),
        ("BadField", "metadata"),
        ("BadField", "spec.colour"),
        ("BadField", "spec.isParent"),
        ("BadField", "spec.namespaceSelector.matchExpressions[0].operator"),
        ("BadField", "spec.parent"),
        ("BadField", "spec.quotas[0].max"),
        ("BadField", "spec.quotas[0].min[cpu]"),
        ("BadField", "spec.quotas[1]"),
        ("BadField", "spec.reclaim.gracePeriod"),
        ("BadField", "spec.startup.limit"),
        ("BadQuantity", "spec.quotas[0].min[disk]"),
        ("BadQuantity", "spec.quotas[0].min[gpu]"),
    ]


def test_stored_object_is_read_even_if_invalid() -> None:
    stored = {"metadata": {"name": "a"}, "spec": {"isParent": "yes", "quotas": [{"min": {"cpu": "1e400"}}], "new": {}}}
    group = read_group(json.dumps(stored).encode())
    assert sorted(each.field for each in group.unread) == ["spec.isParent", "spec.new", "spec.quotas[0].min[cpu]"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"a"',
        b"{}",
        b'{"metadata": {}}',
        b'{"metadata": []}',
        b"\xff",
        b"[" * 5000,
        b'{"a":' * 5000,
    ],
)
def test_object_without_a_name_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        read_group(raw)
    with pytest.raises(Unreadable):
        read_flavor(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=12,
)
FIELDS = [*WHOLE["spec"], "colour"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
@settings(max_examples=300, deadline=None)
def test_any_spec_is_read_and_checked_without_an_exception(spec: dict[str, Any]) -> None:
    group = read_group_manifest({"metadata": {"name": "a"}, "spec": spec})
    found = rules.check_tree(Tree.of([group]), rules.Context())
    assert len(rules.write_violations(found.violations).encode()) <= 4096


def test_stored_duration_above_100_years_counts_as_100_years_and_is_reported() -> None:
    spec = {"reclaim": {"claimTimeout": "79999999h"}, "queueing": {"patience": "999999999h"}}
    found = read_group(json.dumps({"metadata": {"name": "vision"}, "spec": spec}).encode())
    century = timedelta(hours=876_000)
    assert (found.reclaim.claim_timeout, found.patience) == (century, century)
    assert [(each.field, each.message) for each in found.unread] == [
        ("spec.reclaim.claimTimeout", "is '79999999h', longer than 100 years; write at most 876000h"),
        ("spec.queueing.patience", "is '999999999h', longer than 100 years; write at most 876000h"),
    ]
