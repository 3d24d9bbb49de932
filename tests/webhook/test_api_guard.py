"""When the visibility API counts as lost, so that its APIService is deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.api_service import ApiServiceRecord, read_api_service
from webhook.api_guard import PATIENCE, is_lost

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SERVICE = {"name": "quotree-visibility", "namespace": "quotree-system", "port": 443}


def record(status: str, since: datetime, service: dict[str, Any] | None) -> ApiServiceRecord:
    condition = {"type": "Available", "status": status, "lastTransitionTime": since.isoformat()}
    return read_api_service({"spec": {"service": service}, "status": {"conditions": [condition]}})


@pytest.mark.parametrize(
    ("status", "age", "service", "lost"),
    [
        ("False", 2 * PATIENCE, SERVICE, True),
        ("False", PATIENCE / 2, SERVICE, False),
        ("True", 2 * PATIENCE, SERVICE, False),
        ("False", 2 * PATIENCE, None, False),
    ],
)
def test_api_service_counts_as_lost_only_when_unavailable_for_long(
    status: str, age: timedelta, service: dict[str, Any] | None, lost: bool
) -> None:
    assert is_lost(record(status, NOW - age, service), NOW) is lost


def test_api_service_without_status_does_not_count_as_lost() -> None:
    assert not is_lost(read_api_service({"spec": {"service": SERVICE}}), NOW)
