"""Messages list a few names and count the others."""

import pytest

from shared.quota.model.rules.groups.hierarchy import chain
from shared.quota.model.rules.listing import SHOWN, listed


@pytest.mark.parametrize(
    ("number", "expected"), [(0, ""), (1, "a"), (3, "a, b, c"), (4, "a, b, c and 1 more"), (6, "a, b, c and 3 more")]
)
def test_names_beyond_the_first_are_counted(number: int, expected: str) -> None:
    assert listed("abcdef"[:number], most=3) == expected


def test_messages_are_separated() -> None:
    assert listed(["x y", "z", "w"], "; ", most=2) == "x y; z; and 1 more"


def test_short_list_is_complete() -> None:
    names = [f"n{number}" for number in range(SHOWN)]
    assert listed(names) == ", ".join(names)
    assert listed([*names, "last"]) == f"{', '.join(names)} and 1 more"


def test_long_path_leaves_out_its_middle() -> None:
    names = tuple(f"n{number}" for number in range(SHOWN + 3))
    assert chain(names) == "n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> (3 more) -> n9 -> n10 -> n11 -> n12 -> n13 -> n14"
