"""Sums of a moment and a duration are computed by `later` and `earlier` alone: anything else can overflow and raise.

What is a moment or a duration is told by its name: names that some declaration of the code types so. What some
declaration types as something else, such as seconds of a monotonic clock, is neither.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("shared/quota", "shared/api", "shared/cluster", "webhook", "reconciler", "cli")
HELPER = ROOT / "shared" / "api" / "durations.py"
Names = frozenset[str]


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text())) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def is_typed(annotation: ast.expr | None, name: str) -> bool:
    """Whether it is this type, or this type or None."""
    if isinstance(annotation, ast.BinOp):
        return is_typed(annotation.left, name) or is_typed(annotation.right, name)
    return isinstance(annotation, ast.Name) and annotation.id == name


def names_typed(name: str) -> Names:
    """The names of what is declared with this type, and nowhere with another."""
    found: set[str] = set()
    others: set[str] = set()
    kept: list[tuple[str, str]] = []
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name | ast.Attribute):
                is_made = isinstance(node.value, ast.Call) and is_typed(node.value.func, name)
                if is_typed(node.annotation, name) or is_made:
                    found.add(called(node.target))
                elif is_other(node.annotation):
                    others.add(called(node.target))
            elif isinstance(node, ast.arg) and node.annotation is not None:
                if is_typed(node.annotation, name):
                    found.add(node.arg)
                elif is_other(node.annotation):
                    others.add(node.arg)
            elif isinstance(node, ast.FunctionDef) and is_typed(node.returns, name):
                found.add(node.name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                kept.append((called(node.targets[0]), called(node.value)))
    known = found - others
    return frozenset(known | {attribute for attribute, parameter in kept if parameter in known})


def is_other(annotation: ast.expr) -> bool:
    """Whether it is neither; as text they are on the way to be read."""
    return not any(is_typed(annotation, each) for each in ("str", "datetime", "timedelta"))


def called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_a(node: ast.expr, name: str, known: Names) -> bool:
    """Whether the expression is of this type, as far as its words tell."""
    if isinstance(node, ast.Call):
        function = called(node.func)
        is_made = function == name or (name == "datetime" and ast.unparse(node.func) == "datetime.now")
        return is_made or function in known or (function in ("min", "max") and any_of(node.args, name, known))
    if isinstance(node, ast.BoolOp):
        return any_of(node.values, name, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return is_a(node.left, name, known)
    return called(node) in known


def any_of(nodes: list[ast.expr], name: str, known: Names) -> bool:
    return any(is_a(each, name, known) for each in nodes)


def is_sum_of_moment(node: ast.AST, moments: Names, durations: Names) -> bool:
    """Whether a moment and a duration are added, or one is subtracted from the other."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    sides = [node.left, node.right]
    of_duration = [is_a(each, "timedelta", durations) for each in sides]
    of_moment = [is_a(each, "datetime", moments) for each in sides]
    return (isinstance(node.op, ast.Add) and any(of_moment)) or (any(of_duration) and not all(of_duration))


def test_moments_and_durations_are_added_by_one_helper() -> None:
    moments, durations = names_typed("datetime"), names_typed("timedelta")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and path != HELPER and is_sum_of_moment(node, moments, durations)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "now + grace",
        "now - grace",
        "claim.since + leaf.claim_timeout",
        "(workload.since or now) + x",
        "max(since, x) + y",
        "datetime.now(UTC) + x",
        "x + timedelta(1)",
        "x - grace * 2",
    ],
)
def test_such_a_sum_is_found(text: str) -> None:
    names = frozenset({"now", "since"}), frozenset({"grace", "claim_timeout"})
    assert is_sum_of_moment(ast.parse(text, mode="eval").body, *names)


@pytest.mark.parametrize("text", ["now - since", "grace + claim_timeout", "1 + x", "grace / 2"])
def test_other_arithmetic_is_left_alone(text: str) -> None:
    names = frozenset({"now", "since"}), frozenset({"grace", "claim_timeout"})
    assert not is_sum_of_moment(ast.parse(text, mode="eval").body, *names)
