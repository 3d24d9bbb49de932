"""What is shipped is what is tested: the image's lock is a part of the lock that the tests run with."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", re.MULTILINE)


def _pins(name: str) -> dict[str, str]:
    return dict(_PIN.findall((ROOT / name).read_text()))


def test_the_runtime_lock_is_part_of_the_tested_lock() -> None:
    runtime, tested = _pins("runtime.lock"), _pins("requirements.lock")
    assert {name: tested.get(name) for name in runtime} == runtime
    assert {"aiohttp", "kubernetes-asyncio", "jsonpatch", "cryptography", "msgspec"} <= set(runtime)


def test_no_lock_names_a_package_index() -> None:
    assert not [name for name in ("runtime.lock", "requirements.lock") if "://" in (ROOT / name).read_text()]
