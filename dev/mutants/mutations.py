"""Which small changes of a Python source make a mutant: comparisons, and/or, plus/minus, not. Pure."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
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


Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One change. `line`: where it is, counted from 1; `text`: that line before it; `what`: the change in words.

    `function`: the first line, decorators included, of the outermost function around it; `tree`: the file after it.
    """

    path: str
    line: int
    text: str
    what: str
    function: int
    tree: ast.Module = field(repr=False, compare=False)

    @property
    def place(self) -> tuple[str, int]:
        """Return where the function is."""
        return self.path, self.function

    def code(self, filename: str) -> CodeType:
        """Return the changed function, compiled as part of that file."""
        waiting = [compile(self.tree, filename, "exec", dont_inherit=True)]
        while waiting:
            code = waiting.pop()
            if code.co_firstlineno == self.function and code.co_flags & inspect.CO_OPTIMIZED:
                return code
            waiting.extend(each for each in code.co_consts if isinstance(each, CodeType))
        raise LookupError(f"{self.path} has no function at line {self.function}")


def count_sites(source: str) -> int:
    """Return how many mutants that source has."""
    return sum(1 for _ in _sites(ast.parse(source)))


def mutant(path: str, source: str, index: int) -> Mutant:
    """Return the mutant of that index, without making the others. Raises IndexError."""
    tree = ast.parse(source)
    function, site = list(_sites(tree))[index]
    line = getattr(site, "lineno", 0)
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    return Mutant(path, line, source.splitlines()[line - 1].strip(), _change(site), first, tree)


def _outermost_functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child
        else:
            yield from _outermost_functions(child)


def _sites(tree: ast.Module) -> Iterator[tuple[Function, ast.AST]]:
    """Yield what can be changed inside functions, each with the outermost function around it."""
    for function in _outermost_functions(tree):
        for statement in function.body:
            yield from ((function, node) for node in ast.walk(statement) if _can_change(node))


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in _COMPARISONS
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Add | ast.Sub)
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


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
    assert isinstance(site, ast.UnaryOp)  # noqa: S101 - the last of the kinds of `_can_change`
    site.operand = ast.copy_location(ast.UnaryOp(ast.Not(), site.operand), site)
    return "not -> (removed)"
