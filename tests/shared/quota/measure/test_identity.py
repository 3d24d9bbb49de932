"""Which names of two mappings have changed: told by identity, in whatever order the names are."""

import pytest

from shared.quota.measure.identity import changed_names

A, B = object(), object()


@pytest.mark.parametrize(
    ("now", "before", "changed"),
    [
        ({"a": A, "b": B}, {"a": A, "b": B}, set()),
        ({"a": A, "b": A}, {"a": A, "b": B}, {"b"}),
        ({"b": B, "a": A}, {"a": A, "b": B}, set()),
        ({"b": A, "a": A}, {"a": A, "b": B}, {"b"}),
        ({"a": A, "b": B}, {"a": A}, {"b"}),
        ({"a": A}, {"a": A, "b": B}, {"b"}),
        ({"c": B}, {"b": B}, {"b", "c"}),
    ],
)
def test_changed_names_are_those_with_another_object_and_those_that_came_or_are_gone(
    now: dict[str, object], before: dict[str, object], changed: set[str]
) -> None:
    assert changed_names(now, before) == changed
    assert changed_names(now, now) == set()
