"""Whether an image can still import all that the processes import, also what they import later, and has time zones."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("cli", "dashboard", "reconciler", "shared", "webhook")
COMMANDS = ("quotree", "quotree-webhook", "quotree-reconciler")
ZONE = "Europe/Berlin"
"""A time zone other than UTC, which settings can name."""
ROOT = Path(__file__).parent.parent.parent


def script(root: Path = ROOT) -> str:
    """Return a Python program that tries each import, fails with the first that fails, and prints their number."""
    statements = sorted(set(_statements(root)))
    lines = [
        "import subprocess, warnings, zoneinfo",
        "warnings.simplefilter('ignore')",
        f"for statement in {statements!r}:",
        "    try:",
        "        exec(statement, {})",
        "    except ImportError as error:",
        "        raise SystemExit(f'the image lacks what it imports: {statement}: {error}')",
        f"zoneinfo.ZoneInfo({ZONE!r})",
        f"for command in {COMMANDS!r}:",
        "    subprocess.run([command, '--help'], check=True, stdout=subprocess.DEVNULL)",
        f"print('{len(statements)} imports and {len(COMMANDS)} commands work in the image')",
    ]
    return "\n".join(lines) + "\n"


def _statements(root: Path) -> Iterator[str]:
    """Yield the import of each module of the project, and what its functions import when they are called."""
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if not module.endswith("__main__"):
                yield f"import {module}"
            for function in ast.walk(ast.parse(file.read_text())):
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from map(ast.unparse, filter(_is_import, ast.walk(function)))


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.level == 0)
