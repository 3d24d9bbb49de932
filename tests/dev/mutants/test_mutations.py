"""A mutant is one small change of the source, at the place it says."""

import ast

import pytest

from dev.mutants.__main__ import known_equivalents
from dev.mutants.mutations import count_sites, mutant
from tests.project.repository import ROOT

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
    assert text in ast.unparse(one.tree)
    assert one.code("f.py").co_name == "f"


def test_there_are_as_many_mutants_as_sites() -> None:
    assert count_sites(SOURCE) == 5
    with pytest.raises(IndexError):
        mutant("f.py", SOURCE, 5)


def test_only_what_runs_when_a_function_is_called_is_changed() -> None:
    source = "X = 1 + 2\n\ndef f(a=3 + 4):\n    return [lambda: a + 5]\n"
    assert [mutant("f.py", source, index).line for index in range(count_sites(source))] == [4]


def test_code_of_a_mutant_is_its_outermost_function_with_the_change() -> None:
    body = "    @staticmethod\n    def f(a):\n        def g():\n            return a < 2\n        return g()\n"
    one = mutant("c.py", f"X = 1\n\n\nclass C:\n{body}", 0)
    assert (one.line, one.function, one.text) == (8, 5, "return a < 2")

    def changed(a: int) -> bool:
        return bool(a)

    changed.__code__ = one.code("c.py")
    assert [changed(a) for a in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize("named", known_equivalents())
def test_line_of_a_mutant_that_changes_nothing_is_there(named: str) -> None:
    path, _, text = named.split(": ", 2)
    assert text in {line.strip().replace("|", "/") for line in (ROOT / path).read_text().splitlines()}
