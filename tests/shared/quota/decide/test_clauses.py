"""docs/deciding.md names only functions and tests that exist."""

import importlib
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (Path(__file__).parents[4] / "docs" / "deciding.md").read_text(encoding="utf-8")


def test_every_function_on_the_page_exists_in_the_code() -> None:
    named = sorted(set(re.findall(r"`((?:\w+\.)*\w+)\.(\w+)`", PAGE)))
    missing = [
        f"{module}.{name}"
        for module, name in named
        if not hasattr(importlib.import_module(f"{_room(module)}.{module}"), name)
    ]
    assert (len(named) > 30, missing) == (True, [])


def test_every_test_on_the_page_exists_in_the_suite() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    named = set(re.findall(r"`(test_[a-z_0-9]+)`", PAGE))
    assert (len(named) > 40, sorted(name for name in named if f"def {name}(" not in written)) == (True, [])


def _room(module: str) -> str:
    return "shared.quota" if module.startswith("outlook.") else "shared.quota.decide"
