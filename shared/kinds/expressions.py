"""The expressions of a descriptor: CEL over a few named numbers, texts and flags, compiled once.

An expression cannot run long: it is short, it sees no mappings and no long lists, and it has at most one macro
(`exists`, `map`, ...), since one inside another takes the product of both lists' lengths. What it cannot compute
(1/0, a number and a text) is an ExpressionProblem that names it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final, Protocol, cast

MAX_EXPRESSION: Final = 512
MAX_NESTING: Final = 16
MAX_INTEGER: Final = 2**63
Value = bool | int | float | str | None | list[Any]
FUNCTIONS: Final = frozenset(
    {"size", "int", "double", "string", "contains", "startsWith", "endsWith", "has", "all", "exists", "exists_one",
     "map", "filter"}
)  # fmt: skip
MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})
_WORD: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_][A-Za-z0-9_]*")
_CALL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(")
_OPENING: Final = re.compile(r"[(\[{?]|[-!]+")
_RESERVED: Final = frozenset({"true", "false", "null", "in"})
WORDS: Final = FUNCTIONS | _RESERVED
"""Names that CEL uses itself, which no value can have."""


class ExpressionProblem(ValueError):
    """An expression that has no result for these values, or one of the wrong type."""


class _Program(Protocol):
    def execute(self, context: Mapping[str, Any]) -> Any:
        """Return the value of the expression for these variables."""

    def variables(self) -> list[str]:
        """Return the names of the values that it reads."""


class _Library(Protocol):
    def compile(self, text: str) -> _Program:
        """Compile an expression. Raises ValueError for text that is none."""


def _library() -> _Library:
    """Return the compiled part of the package `cel`: the package itself imports a command line and five libraries."""
    package = find_spec("cel")
    places = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("cel.cel", places)
    if spec is None or spec.loader is None:
        raise ImportError("the package common-expression-language is not installed")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("_Library", module)


_CEL: Final = _library()


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A compiled expression."""

    text: str
    program: _Program

    def evaluate(self, values: Mapping[str, Value]) -> Any:
        """Return the result. Raises ExpressionProblem."""
        try:
            return self.program.execute(values)
        except Exception as error:  # The library raises TypeError, OverflowError, KeyError and others.
            raise ExpressionProblem(f"{self.text!r} has no result: {_first_line(error)}") from error

    def flag(self, values: Mapping[str, Value]) -> bool:
        """Return the result, which must be true or false. Raises ExpressionProblem."""
        result = self.evaluate(values)
        if not isinstance(result, bool):
            raise ExpressionProblem(f"{self.text!r} gives {type(result).__name__} and not true or false")
        return result

    def whole_number(self, values: Mapping[str, Value]) -> int:
        """Return the result, which must be a whole number. Raises ExpressionProblem."""
        result = self.evaluate(values)
        if not isinstance(result, int) or isinstance(result, bool):
            raise ExpressionProblem(f"{self.text!r} gives {type(result).__name__} and not a whole number")
        return result


def compile_expression(text: str, names: frozenset[str]) -> Expression:
    """Compile an expression that reads only these names. Raises ValueError that says what is wrong."""
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"an expression has at most {MAX_EXPRESSION} characters, this one {len(text)}")
    bare = _WORD.sub(lambda word: "_" if word[0][0] in "'\"" else word[0], text)
    if len(_OPENING.findall(bare)) > MAX_NESTING:
        raise ValueError(f"{text[:40]!r} has more than {MAX_NESTING} brackets, choices and signs")
    unknown = sorted(set(_CALL.findall(bare)) - FUNCTIONS - _RESERVED)
    if unknown:
        raise ValueError(f"{text!r} calls {', '.join(unknown)}; it may call {', '.join(sorted(FUNCTIONS))}")
    if sum(word[0] in MACROS for word in _WORD.finditer(bare)) > 1:
        raise ValueError(f"{text!r} has more than one of {', '.join(sorted(MACROS))}")
    try:
        program = _CEL.compile(text)
    except Exception as error:
        raise ValueError(f"{text!r} is no expression: {_first_line(error)}") from error
    strange = sorted(set(program.variables()) - names - _bound(bare))
    if strange:
        raise ValueError(f"{text!r} reads {', '.join(strange)}; `values` has {', '.join(sorted(names)) or 'nothing'}")
    return Expression(text, program)


_BOUND: Final = re.compile(r"\b(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*,")


def _bound(text: str) -> set[str]:
    """Return the names of the variables that macros bind to the items of their lists."""
    return set(_BOUND.findall(text))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
