"""Which `test` of a JSON Patch fails is found without the API server's message."""

from typing import Any

import pytest

from shared.kube.patch_tests import first_failed_test

DOCUMENT: dict[str, Any] = {
    "metadata": {"uid": "u", "generation": 1, "labels": {"quotree.dev/group": "a"}},
    "spec": {"gates": [{"name": "x"}], "suspend": True},
}


@pytest.mark.parametrize(
    ("path", "value", "failure"),
    [
        ("/metadata/uid", "u", None),
        ("/metadata/uid", "v", "/metadata/uid is 'u', expected 'v'"),
        ("/metadata/labels/quotree.dev~1group", "a", None),
        ("/metadata/labels/quotree.dev~1group", "b", "/metadata/labels/quotree.dev~1group is 'a', expected 'b'"),
        ("/spec/gates/0", {"name": "x"}, None),
        ("/spec/gates/1", {"name": "x"}, "/spec/gates/1 is absent, expected {'name': 'x'}"),
        ("/spec/gates/-", 1, "/spec/gates/- is absent, expected 1"),
        ("/spec/suspend", True, None),
        ("/spec/suspend", 1, "/spec/suspend is True, expected 1"),
        ("/metadata/generation", True, "/metadata/generation is 1, expected True"),
        ("/metadata/generation", 1.0, None),
        ("/metadata/absent", None, None),
        ("", DOCUMENT, None),
    ],
)
def test_failed_test_operation_is_found(path: str, value: Any, failure: str | None) -> None:
    assert first_failed_test(DOCUMENT, [{"op": "test", "path": path, "value": value}]) == failure


def test_first_failed_test_is_reported_and_other_operations_are_ignored() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "replace", "path": "/nowhere", "value": 1},
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/generation", "value": 2},
        {"op": "test", "path": "/metadata/uid", "value": "w"},
    ]
    assert first_failed_test(DOCUMENT, operations) == "/metadata/generation is 1, expected 2"
