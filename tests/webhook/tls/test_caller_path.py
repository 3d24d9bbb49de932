"""The path that only the API server knows: generated, rotated with an overlap, and recognised."""

from datetime import UTC, datetime, timedelta

import pytest

from webhook.tls.caller_path import (
    accepted_tokens,
    called_path,
    next_path_contents,
    path_operations,
    route_of_path,
)
from webhook.tls.configurations import WebhookEntry, read_configuration, route_of_entry

NOW = datetime(2026, 3, 1, tzinfo=UTC)
VALIDATING = "validatingwebhookconfigurations"
OLD, NEW = "0" * 64, "f" * 64


def entry(path: str = "", *, url: bool = False) -> WebhookEntry:
    called = {"url": f"https://x:9{path}"} if url else {"service": {"path": path}}
    webhook = {"name": "labelled.jobs.quotree.dev", "clientConfig": called}
    return read_configuration({"webhooks": [webhook]}).webhooks[0]


def test_path_is_generated_once_and_replaced_with_the_certificate() -> None:
    first = next_path_contents({}, NOW, published=False)
    assert len(accepted_tokens(first)) == 1
    assert next_path_contents(first, NOW, published=True) == first
    second = next_path_contents(first, NOW + timedelta(days=60), published=True)
    assert accepted_tokens(second)[1] == accepted_tokens(first)[0]
    assert next_path_contents(second, NOW + timedelta(days=120), published=False) == second
    last = next_path_contents(second, NOW + timedelta(days=60), published=True)
    assert accepted_tokens(last) == accepted_tokens(second)[:1]


def test_a_replica_with_an_older_certificate_does_not_replace_the_path() -> None:
    first = next_path_contents({}, NOW, published=False)
    assert next_path_contents(first, NOW - timedelta(days=60), published=True) == first


@pytest.mark.parametrize("broken", [b"", b"short", b"/" * 64])
def test_invalid_path_is_generated_again(broken: bytes) -> None:
    assert len(accepted_tokens(next_path_contents({"path": broken}, NOW, published=True))) == 1


@pytest.mark.parametrize(
    ("path", "route"),
    [
        (f"/{NEW}/validate/jobs", "/validate/jobs"),
        (f"/{OLD}/validate/jobs", "/validate/jobs"),
        ("/validate/jobs", None),
        (f"/{'1' * 64}/validate/jobs", None),
        (f"/{NEW}", None),
        (f"{NEW}/validate/jobs", None),
        ("/\udcff/validate/jobs", None),
        ("", None),
    ],
)
def test_route_is_found_only_behind_an_accepted_path(path: str, route: str | None) -> None:
    assert route_of_path(path, (NEW, OLD)) == route
    assert route_of_path(path, ()) is None


def test_webhook_entry_is_patched_to_the_current_path() -> None:
    right = called_path(NEW, "/validate/jobs")
    where = "/webhooks/3/clientConfig"
    by_service = [{"op": "add", "path": f"{where}/service/path", "value": right}]
    by_url = [{"op": "add", "path": f"{where}/url", "value": f"https://x:9{right}"}]
    assert route_of_entry(VALIDATING, entry()) == "/validate/jobs"
    assert path_operations(VALIDATING, 3, entry(), (NEW, OLD), switch=False) == by_service
    assert path_operations(VALIDATING, 3, entry("/else", url=True), (NEW, OLD), switch=False) == by_url
    assert path_operations(VALIDATING, 3, entry(right), (NEW, OLD), switch=True) == []


def test_webhook_entry_keeps_the_previous_path_until_every_replica_knows_the_new_one() -> None:
    previous = entry(called_path(OLD, "/validate/jobs"))
    assert path_operations(VALIDATING, 0, previous, (NEW, OLD), switch=False) == []
    assert len(path_operations(VALIDATING, 0, previous, (NEW, OLD), switch=True)) == 1
