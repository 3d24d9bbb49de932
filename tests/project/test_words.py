"""One word, one meaning: class names are unique, and words that were given up do not come back.

The list has private words of this project that stand for a word of the field, and English that readers stumble over.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.project.repository import ROOMS, public_aliases, public_classes, text_files, text_of

INSTEAD: Final = {
    "anew": "again",
    "former": "previous",
    "formerly": "before",
    "for ever": "indefinitely",
    "mend": "fix",
    "mends": "fixes",
    "mended": "fixed",
    "in vain": "without effect",
    "nobody's": "say whose it is not",
    "whoever": "name who: a caller, a replica, a preemptor",
    "thereby": "so",
    "somebody": "name who: a user, a workload, another process",
    "everybody": "all users, every caller",
    "anybody": "any user, any caller",
    "told apart": "distinguished",
    "none of our business": "allowed unchanged, ignored",
    "bug of ours": "internal error",
    "may not": "must not, cannot or might not",
    "asker": "preemptor",
    "askers": "preemptors",
    "give back": "fill back",
    "gives back": "fills back",
    "given back": "filled back",
    "foundling": "unadmitted running workload",
    "homeless": "orphaned",
    "scenery": "context",
    "surroundings": "namespace context",
    "at the door": "by the admission webhook",
    "minimumRuntime": "exemptAfterStart",
    "minimum_runtime": "exempt_after_start",
}
"""word -> what to write. Matched as whole words, upper or lower case, also where a line ends between two words."""
BREAK: Final = r"\s+(?:# )?"
NOT_READ: Final = frozenset({"LICENSE", "tests/project/test_words.py"})


@cache
def _lowered(name: str) -> str:
    """Where a plain search shows that a word is not there, which the pattern takes long to find."""
    return text_of(name).lower()


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_that_was_given_up_does_not_come_back(word: str) -> None:
    pattern = re.compile(rf"\b{BREAK.join(word.split())}\b", re.IGNORECASE)
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        for name in text_files()
        if name not in NOT_READ and word.partition(" ")[0].lower() in _lowered(name)
        for text in (text_of(name),)
        for match in pattern.finditer(text)
    ]
    assert found == [], f"write {INSTEAD[word]!r} instead of {word!r}"


PRIVATE: Final = frozenset(
    {"anew", "asker", "foundling", "homeless", "keeper", "ledger", "mend", "mended", "neighbourhood", "posted"}
    | {"scene", "scenery", "showcase", "somebody", "surroundings", "tally", "wish", "wished"}
)
"""Words of names that only their author knew; docs/glossary.md has the field's."""
PRIVATE_IN_TESTS: Final = PRIVATE | {"cp", "said", "told"}


@pytest.mark.parametrize(
    ("rooms", "private"), [(ROOMS, PRIVATE), (("tests",), PRIVATE_IN_TESTS)], ids=["code", "tests"]
)
def test_no_name_has_a_private_word(rooms: Collection[str], private: frozenset[str]) -> None:
    found = [
        f"{file}:{line}: {name}"
        for file in text_files()
        if file.endswith(".py") and file.partition("/")[0] in rooms
        for name, line in _defined(file)
        if private & {part.lower() for part in re.findall(r"[A-Z]?[a-z]+", name)}
    ]
    assert found == []


def _defined(file: str) -> Iterator[tuple[str, int]]:
    """Every module, class, function, argument and variable that the file names, and where."""
    yield Path(file).stem, 1
    for node in ast.walk(ast.parse(text_of(file))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def test_a_public_name_of_a_type_means_one_thing() -> None:
    files = defaultdict(list)
    for name, file in (*public_classes(*ROOMS), *public_aliases(*ROOMS)):
        files[name].append(file)
    assert (len(files) > 300, {name: where for name, where in files.items() if len(where) > 1}) == (True, {})
