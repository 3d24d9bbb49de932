"""A mutant is one small change of the source, at the place it says."""

import ast
from pathlib import Path

import pytest

from dev.mutants.calls import trace
from dev.mutants.mutations import count_sites, enclosing_function, mutant

ROOT = Path(__file__).parents[3]

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


def test_the_innermost_function_is_found_with_its_decorators() -> None:
    body = "    @property\n    def f(self):\n        def g():\n            return 1 < 2\n        return g\n"
    tree = ast.parse(f"X = 1\n\n\nclass C:\n{body}")
    assert [enclosing_function(tree, line) for line in (1, 4, 6, 8, 9)] == [None, None, 5, 7, 5]


def test_a_traced_file_names_the_functions_it_calls() -> None:
    found = trace("tests/shared/quota/measure/test_division.py", ROOT)
    text = (ROOT / "shared/quota/measure/fair_share.py").read_text().splitlines()
    called = {text[line - 1].strip() for path, line in found.calls if path == "shared/quota/measure/fair_share.py"}
    assert found.passes
    assert any(line.startswith("def divide(") for line in called)
    assert not any(path.startswith("shared/quota/decide/") for path, _ in found.calls)
