"""Every word of the arithmetic, in the trees of the documents and in small ones of its own."""

from dataclasses import replace

import pytest

from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import NOW, evicting, pending, running, world
from tests.trees import KEY, tree


def measured(text: str, *work: Workload) -> Snapshot:
    return measure(world(text, work), NOW)


def column(snapshot: Snapshot, word: str) -> dict[str, int]:
    return {group: getattr(own[KEY], word) for group, own in snapshot.numbers.items() if KEY in own}


def hundred(*leaves: str) -> list[Workload]:
    return [pending(leaf, 1, f"{leaf}-{index}") for leaf in leaves for index in range(100)]


def test_four_groups_share_a_hundred_as_the_elastic_quota_proposal_says() -> None:
    snapshot = measured(
        """
        root 100
          a 10 w40
          b 15 w60
          c 20 w50
          d 15 w80
        """,
        pending("a", 5, "a"),
        pending("b", 20, "b"),
        pending("c", 40, "c"),
        pending("d", 70, "d"),
    )
    assert column(snapshot, "runtime") == {"root": 100, "a": 5, "b": 20, "c": 35, "d": 40}
    assert column(snapshot, "request") == {"root": 135, "a": 5, "b": 20, "c": 40, "d": 70}
    assert column(snapshot, "demand") == {"root": 100, "a": 5, "b": 20, "c": 40, "d": 70}


def test_two_levels_divide_from_the_top_with_max_as_weight() -> None:
    snapshot = measured(
        """
        root 100
          parent-a 20..100
            a-1 10..10
            a-2 10..10
          parent-b 80..100
            b-1 20..40
            b-2 40..70
        """,
        *hundred("a-1", "a-2", "b-1", "b-2"),
    )
    expected = {"root": 100, "parent-a": 20, "parent-b": 80, "a-1": 10, "a-2": 10, "b-1": 27, "b-2": 53}
    assert column(snapshot, "runtime") == expected
    assert column(snapshot, "weight")["b-2"] == 70


def test_short_capacity_is_shared_by_min_and_idle_guarantees_keep_at_most_their_runtime() -> None:
    text = """
        root 50
          a 40 l0
          b 40
        """
    jobs = [pending("b", 10, f"b-{index}") for index in range(5)]
    snapshot = measured(text, *jobs)
    assert column(snapshot, "runtime") == {"root": 50, "a": 25, "b": 25}
    assert column(snapshot, "guarantee") == {"root": 0, "a": 40, "b": 0}
    two = [running("b", 10, f"b-{index}") for index in range(2)]
    assert column(measured(text, *two, *jobs[2:]), "charge") == {"root": 45, "a": 0, "b": 20}


def test_min_of_an_idle_sibling_scales_no_group() -> None:
    snapshot = measured(
        """
        root 100
          p 40
            c1 20 w0
            c2 20
        """,
        pending("c1", 20, "one"),
        pending("c2", 5, "two"),
    )
    assert column(snapshot, "demand") == {"root": 25, "p": 25, "c1": 20, "c2": 5}
    assert column(snapshot, "runtime") == {"root": 100, "p": 25, "c1": 20, "c2": 5}


def test_every_number_of_one_group_has_its_expected_value() -> None:
    snapshot = measured(
        """
        root 20
          vision 8..12 w3 l6 b2
          nlp 8
        """,
        running("vision", 3, "fixed", preemptible=False),
        running("vision", 2, "plain"),
        evicting(running("vision", 1, "leaving")),
        pending("vision", 4, "waiting"),
    )
    assert snapshot.numbers["vision"][KEY] == Numbers(
        min=8,
        effective_min=8,
        guarantee=2,
        ceiling=10,
        limit=10,
        weight=3,
        request=10,
        used=6,
        non_preemptible=3,
        kept=8,
        charge=6,
        idle_charge=2,
        demand=10,
        runtime=10,
        waiting_since=NOW,
    )
    assert (snapshot.numbers["vision"][KEY].borrowed, snapshot.numbers["vision"][KEY].lendable) == (0, 2)


@pytest.mark.parametrize(
    ("used", "borrowed", "lendable"), [(0, 0, 6), (1, 0, 6), (5, 0, 3), (8, 0, 0), (11, 3, 0)], ids=str
)
def test_borrowed_is_used_above_min_and_lendable_is_min_minus_use_and_guarantee(
    used: int, borrowed: int, lendable: int
) -> None:
    numbers = Numbers(min=8, guarantee=2, used=used)
    assert (numbers.borrowed, numbers.lendable) == (borrowed, lendable)


def test_charge_counts_what_idle_groups_keep_at_every_level() -> None:
    snapshot = measured(
        """
        root 100
          a 30 l10
            a-1 20 l0
            a-2 10
          b 30
            b-1 10 l4
            b-2 10
        """,
        running("a-2", 4, "one"),
        running("b-1", 9, "two"),
    )
    expected = {"root": 33, "a": 24, "a-1": 0, "a-2": 4, "b": 9, "b-1": 9, "b-2": 0}
    assert column(snapshot, "charge") == expected


def test_guarantee_of_a_parent_is_kept_beyond_those_of_its_children() -> None:
    snapshot = measured(
        """
        root 100
          a 30 l10
            a-1 20 l15
          b 30
        """,
    )
    assert column(snapshot, "charge") == {"root": 20, "a": 5, "a-1": 0, "b": 0}


def test_system_use_reduces_the_runtime_of_root_and_is_shown_in_its_use() -> None:
    snapshot = measured(
        """
        root 20
          system
          a 10
        """,
        running("system", 4, "dns"),
        running("a", 3, "job"),
    )
    root = snapshot.numbers["root"][KEY]
    assert (root.runtime, root.used, root.non_preemptible, root.charge, root.request) == (16, 7, 4, 3, 7)
    assert snapshot.numbers["system"] == {
        KEY: Numbers(request=4, used=4, non_preemptible=4, charge=4, demand=4, runtime=4)
    }
    assert "system" not in snapshot.leaves


def test_unmanaged_system_and_orphaned_use_is_subtracted_but_not_below_zero() -> None:
    start = world(
        """
        root 20
          a 10
          lost 5 ^nowhere
        """,
        [running("lost", 2, "one"), running("gone", 3, "two"), pending("gone", 4, "three")],
    )
    some = measure(replace(start, unmanaged={KEY: 6}, system={KEY: 1}), NOW)
    assert some.numbers["root"][KEY].runtime == 20 - 6 - 1 - 2 - 3
    assert sorted(work.key for work in some.orphaned) == ["ns/one", "ns/three", "ns/two"]
    assert some.inactive["lost"].detached
    assert some.numbers["lost"] == {KEY: Numbers(min=5, request=2, used=2, charge=2, demand=2)}
    much = measure(replace(start, unmanaged={KEY: 60}), NOW)
    assert much.numbers["root"][KEY].runtime == 0


def test_capacity_from_groups_is_not_reduced() -> None:
    found = world(
        tree("a 10\nb 6"), [running("system", 4, "dns")], settings=QuotaSettings(capacity_source=CapacitySource.GROUPS)
    )
    snapshot = measure(replace(found, unmanaged={KEY: 9}), NOW)
    assert snapshot.capacity == {KEY: 16}
    assert snapshot.numbers["root"][KEY].runtime == 16


def test_effective_min_is_scaled_where_capacity_is_lost_and_never_by_demand() -> None:
    text = """
        root 30
          a 40
            a-1 30
            a-2 10
          b 20
        """
    idle, busy = measured(text), measured(text, pending("b", 20, "job"))
    expected = {"root": 30, "a": 20, "a-1": 15, "a-2": 5, "b": 10}
    assert column(idle, "effective_min") == expected
    assert column(busy, "effective_min") == expected
    assert column(busy, "min") == {"root": 0, "a": 40, "a-1": 30, "a-2": 10, "b": 20}


def test_effective_min_rounds_by_largest_remainder_then_name() -> None:
    assert column(measured("root 10\n a 7\n b 7\n c 7"), "effective_min") == {"root": 10, "a": 4, "b": 3, "c": 3}


def test_inherited_max_limits_demand_and_is_the_weight() -> None:
    snapshot = measured(
        """
        root 100
          a 10..30
            a-1 2
            a-2 2..12 w1
        """,
        pending("a-1", 25, "one"),
        pending("a-2", 12, "two"),
    )
    assert column(snapshot, "ceiling") == {"root": 100, "a": 30, "a-1": 30, "a-2": 12}
    assert column(snapshot, "weight") == {"root": 100, "a": 30, "a-1": 30, "a-2": 1}


def test_use_of_a_key_without_quota_counts_up_to_root_without_a_ceiling() -> None:
    other = FlavorResource("t4", "gpu")
    snapshot = measured("root 10\n p 8\n  a 4", running("a", 3, "old", flavors="t4"))
    for group in ("root", "p", "a"):
        numbers = snapshot.numbers[group][other]
        assert (numbers.used, numbers.charge, numbers.ceiling, numbers.runtime) == (3, 3, 0, 0)


def test_group_with_an_entry_without_capacity_gets_nothing() -> None:
    snapshot = measured("root 10\n a t4:gpu 2", pending("a", 1, "job"))
    assert snapshot.numbers["a"][FlavorResource("t4", "gpu")] == Numbers(min=2)


def test_empty_tree_has_a_root() -> None:
    snapshot = measured("root 10")
    assert snapshot.numbers == {
        "root": {KEY: Numbers(effective_min=10, ceiling=10, limit=10, weight=10, runtime=10)},
    }
    assert measured("root 10\n system").numbers["system"] == {}
    assert dict(snapshot.leaves) == {}
