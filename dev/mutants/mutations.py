"""Which small changes of a Python source make a mutant: comparisons, and/or, plus/minus, not. Pure."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_TEXT: Final[dict[type[ast.AST], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
}


@dataclass(frozen=True)
class Mutant:
    """`line`: where it is, counted from 1; `what`: the change in words; `source`: the whole file after it."""

    path: str
    line: int
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def count_sites(source: str) -> int:
    """Return how many mutants that source has."""
    return sum(1 for _ in _sites(ast.parse(source)))


def mutant(path: str, source: str, index: int) -> Mutant:
    """Return the mutant of that index, without making the others. Raises IndexError."""
    tree = ast.parse(source)
    site = list(_sites(tree))[index]
    what = _change(site)
    return Mutant(path, getattr(site, "lineno", 0), what, ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def enclosing_function(tree: ast.Module, line: int) -> int | None:
    """Return the first line, decorators included, of the innermost function around that line; None outside of all."""
    found: int | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if node.lineno <= line <= (node.end_lineno or line) and (found is None or first > found):
                found = first
    return found


def _sites(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        is_comparison = isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS
        is_arithmetic = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if is_comparison or is_arithmetic or is_not or isinstance(node, ast.BoolOp):
            yield node


def _change(site: ast.AST) -> str:
    """Change the node in place; return what was done."""
    if isinstance(site, ast.Compare):
        before = type(site.ops[0])
        after = _COMPARISONS[before]
        site.ops[0] = after()
        return f"{_TEXT[before]} -> {_TEXT[after]}"
    if isinstance(site, ast.BinOp | ast.AugAssign):
        was_plus = isinstance(site.op, ast.Add)
        site.op = ast.Sub() if was_plus else ast.Add()
        return "+ -> -" if was_plus else "- -> +"
    if isinstance(site, ast.BoolOp):
        was_and = isinstance(site.op, ast.And)
        site.op = ast.Or() if was_and else ast.And()
        return "and -> or" if was_and else "or -> and"
    assert isinstance(site, ast.UnaryOp)  # noqa: S101 - the last of the kinds of `_sites`
    site.operand = ast.UnaryOp(ast.Not(), site.operand)
    return "not -> (removed)"
