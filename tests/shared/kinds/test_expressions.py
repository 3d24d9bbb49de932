"""Expressions: results, what has none, and that none can run long."""

from typing import Any

import pytest

from shared.kinds.expressions import ExpressionProblem, compile_expression

NAMES = frozenset({"a", "b", "items", "text"})


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("a * (b < 3 ? b : 3)", {"a": 2, "b": 5}, 6),
        ("a / 2", {"a": 5}, 2),
        ("size(items)", {"items": [1, 2, 3]}, 3),
        ("text == null ? 1 : 2", {"text": None}, 1),
        ("int(text)", {"text": "4"}, 4),
    ],
)
def test_numeric_expressions_are_evaluated(text: str, values: dict[str, Any], result: int) -> None:
    assert compile_expression(text, NAMES).whole_number(values) == result


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("items.exists(x, x == a)", {"items": [1, 2], "a": 2}, True),
        ("!items.all(x, x > 1)", {"items": [1, 2]}, True),
        ("text in ['x', 'all(']", {"text": "y"}, False),
        ("text.startsWith('a')", {"text": "ab"}, True),
    ],
)
def test_boolean_expressions_are_evaluated(text: str, values: dict[str, Any], result: bool) -> None:
    assert compile_expression(text, NAMES).flag(values) is result


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a / 0", {"a": 1}),
        ("a + text", {"a": 1, "text": "x"}),
        ("a * a", {"a": 2**62}),
        ("items[5]", {"items": []}),
        ("int(text)", {"text": "9" * 40}),
        ("a + 1", {"a": None}),
        ("a", {"a": 1.5}),
        ("a", {"a": True}),
        ("a", {"a": "3"}),
        ("a", {"a": "\ud800"}),
    ],
)
def test_missing_number_is_a_problem(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(ExpressionProblem):
        compile_expression(text, NAMES).whole_number(values)


def test_flag_must_be_true_or_false() -> None:
    with pytest.raises(ExpressionProblem, match="'a' gives int and not true or false"):
        compile_expression("a", NAMES).flag({"a": 1})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a +", "is no expression"),
        ("", "is no expression"),
        ("c + 1", r"reads c; `values` has a, b, items, text"),
        ("a.foo()", "calls foo; it may call"),
        ("text.matches('(a*)*')", "calls matches"),
        ("items.map(x, items.map(y, x))", "more than one of"),
        ("items.all (x, items.exists\n(y, x == y))", "more than one of"),
        ("a" + "+a" * 300, "at most 512 characters"),
        ("(" * 40 + "a" + ")" * 40, "more than 16 brackets"),
        ("-" * 5 + "[" * 17, "more than 16 brackets"),
    ],
)
def test_invalid_expression_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        compile_expression(text, NAMES)
