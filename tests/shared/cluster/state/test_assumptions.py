"""What was decided counts until it is seen or known to have failed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.api.core.metadata import Metadata
from shared.api.names import ADMISSION
from shared.cluster.state.expected.assumptions import Assumptions
from shared.quota.model.workload import Admission, Workload
from tests.builders import in_main

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PENDING = Workload("ns/a", "vision", {"cpu": 1000}, NOW, NOW, uid="u1")
STARTED = replace(PENDING, admission=Admission(in_main({"cpu": "default"}), NOW))
MARK = (ADMISSION, "text")
SEEN = Metadata(name="a", namespace="ns", uid="u1", generation=1)


def assumed() -> Assumptions:
    made = Assumptions()
    made.make("u1", STARTED, MARK, [SEEN])
    return made


def test_assumption_counts_until_the_generation_changes() -> None:
    made = assumed()
    made.see("u1", SEEN)
    assert made.get("u1") == STARTED
    made.see("u1", Metadata(uid="u1", generation=2))
    assert made.get("u1") is None


def test_assumption_ends_when_the_object_has_the_annotation() -> None:
    made = assumed()
    made.see("u1", Metadata(uid="u1", generation=1, annotations={ADMISSION: "text"}))
    assert made.get("u1") is None


def test_assumption_of_a_removed_annotation_ends_when_it_is_gone() -> None:
    made = Assumptions()
    noted = Metadata(uid="u1", generation=1, annotations={ADMISSION: "text"})
    made.make("u1", STARTED, (ADMISSION, None), [noted])
    made.see("u1", noted)
    assert made.get("u1") == STARTED
    made.see("u1", SEEN)
    assert made.get("u1") is None


def test_assumption_about_several_objects_ends_with_the_last_one() -> None:
    made = Assumptions()
    made.make("group", STARTED, MARK, [SEEN, Metadata(uid="u2", generation=5)])
    made.see("group", Metadata(uid="u1", generation=2))
    assert made.get("group") == STARTED
    made.lose("group", "u2")
    assert made.get("group") is None


def test_assumption_is_dropped_only_by_its_own_write() -> None:
    made = assumed()
    assert not made.drop("u1", (ADMISSION, "an older text"))
    assert made.get("u1") == STARTED
    assert made.drop("u1", MARK)
    assert made.get("u1") is None


def test_assumption_counts_until_its_only_successful_write_is_seen() -> None:
    made = Assumptions()
    made.make("group", STARTED, MARK, [SEEN, Metadata(uid="u2", generation=5)])
    assert not made.drop("group", MARK, ["u2"])
    assert made.get("group") == STARTED
    made.see("group", Metadata(uid="u1", generation=2))
    assert made.get("group") is None


def test_assumption_ends_when_its_writes_failed_or_are_seen() -> None:
    made = Assumptions()
    made.make("group", STARTED, MARK, [SEEN, Metadata(uid="u2", generation=5)])
    made.see("group", Metadata(uid="u1", generation=2))
    assert made.drop("group", MARK, ["u2"])
    assert made.get("group") is None


def test_write_failures_count_until_the_spec_changes() -> None:
    made = Assumptions()
    later = NOW + timedelta(seconds=1)
    made.park("u1", 1, later)
    made.block("u1", 1, ["a100"])
    made.block("u1", 1, ["t4"])
    doubted = replace(PENDING, not_before=later, blocked_flavors=frozenset({"a100", "t4"}))
    assert made.apply_failure("u1", PENDING) == doubted
    made.see("u1", SEEN)
    assert made.apply_failure("u1", PENDING) == doubted
    made.see("u1", Metadata(uid="u1", generation=2))
    assert made.apply_failure("u1", PENDING) == PENDING


def test_running_workload_keeps_no_write_failure() -> None:
    made = Assumptions()
    made.park("u1", 1, NOW)
    assert made.apply_failure("u1", STARTED) == STARTED
