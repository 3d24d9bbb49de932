"""A mutant is one small change of the source, at the place it says."""

import pytest

from dev.mutants.mutations import count_sites, mutant

SOURCE = "def f(a, b):\n    if a < b and not b:\n        return a + b\n    return a - b\n"


@pytest.mark.parametrize(
    ("line", "what", "text"),
    [
        (2, "and -> or", "if a < b or not b:"),
        (2, "< -> <=", "if a <= b and (not b):"),
        (2, "not -> (removed)", "if a < b and (not not b):"),
        (3, "+ -> -", "return a - b"),
        (4, "- -> +", "return a + b"),
    ],
)
def test_each_site_has_one_mutant(line: int, what: str, text: str) -> None:
    found = [mutant("f.py", SOURCE, index) for index in range(count_sites(SOURCE))]
    [one] = [each for each in found if (each.line, each.what) == (line, what)]
    assert text in one.source


def test_there_are_as_many_mutants_as_sites() -> None:
    assert count_sites(SOURCE) == 5
    with pytest.raises(IndexError):
        mutant("f.py", SOURCE, 5)
