"""Objects of governed kinds that are refused: what cannot be read, and what cannot be governed whole."""

from shared.kinds.reading import read_kind_object
from shared.quota.model.rules.workloads.governed_kind import check_kind_object
from tests.shared.kinds.objects import jobset, read, replicated
from tests.shared.kinds.test_reading import KIND, crunch


def test_valid_object_breaks_no_rule() -> None:
    assert list(check_kind_object("JobSet/train", read(jobset(replicated("a"))))) == []


def test_unreadable_fields_are_named() -> None:
    (found,) = check_kind_object("JobSet/train", read(jobset(replicated("a", replicas=-1))))
    assert found.text == (
        "JobSet 'train': spec.replicatedJobs[0].replicas is -1; it must be a whole number from 0 to 2147483647 "
        "(KindUnreadable)"
    )


def test_refusal_has_reason_and_remedy() -> None:
    seen = read_kind_object(KIND, crunch(steps=[{"parts": [], "grows": True}], mode="alone"))
    (found,) = check_kind_object("Crunch/c", seen)
    assert found.text == "Crunch 'c': it grows; fix its size (KindRefused)"
