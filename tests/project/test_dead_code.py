"""No code is kept that nothing calls; what only frameworks and the wire use is listed in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_code_is_unused() -> None:
    command = [sys.executable, "-m", "vulture"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.stdout.splitlines() == []
