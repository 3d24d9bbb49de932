"""Logs are one JSON object a line, safe to read in a terminal, and tell no secrets."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from shared.telemetry import (
    LogForm,
    configure_logging,
    escape,
    get_logger,
    new_registry,
    render_metrics,
    request_observer,
)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("quotree").setLevel(logging.NOTSET)
    structlog.reset_defaults()


def configured(form: LogForm = "json", level: Any = "info") -> io.StringIO:
    stream = io.StringIO()
    configure_logging(level, form, stream)
    return stream


def one_line(stream: io.StringIO) -> dict[str, Any]:
    (line,) = stream.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found.pop("timestamp").endswith("Z")
    return found


def test_a_log_line_is_a_constant_message_and_pairs() -> None:
    stream = configured()
    get_logger("cycle").info("job started", job="team-a/train-7", count=2)
    assert one_line(stream) == {
        "message": "job started",
        "job": "team-a/train-7",
        "count": 2,
        "level": "info",
        "logger": "quotree.cycle",
    }


def test_standard_logging_with_extras_has_the_same_format() -> None:
    stream = configured()
    logging.getLogger("quotree.kube.watching").warning("watch interrupted", extra={"resource": "jobs.batch"})
    assert one_line(stream) == {
        "message": "watch interrupted",
        "resource": "jobs.batch",
        "level": "warning",
        "logger": "quotree.kube.watching",
    }


def test_control_characters_of_users_are_escaped() -> None:
    stream = configured()
    get_logger("x").info("refused", name="a\nb\x1b[31m\x9b\u2028\u202ez")
    assert stream.getvalue().isascii()
    assert one_line(stream)["name"] == "a\nb\x1b[31m\x9b\u2028\u202ez"
    stream = configured("text")
    get_logger("x").info("refused", name="a\nb\x1b[31m\x9b", plain="x", empty="", level_of="a b")
    line = stream.getvalue().split("refused", 1)[1]
    assert line == ' name="a\\nb\\u001b[31m\\u009b" plain=x empty="" level_of="a b" logger=quotree.x\n'


def test_secrets_are_masked() -> None:
    stream = configured()
    get_logger("x").info("m", token="t", api_password="p", Authorization="Bearer x", tls_private_key="k", tokens=1)
    found = one_line(stream)
    assert {found[key] for key in ("token", "api_password", "Authorization", "tls_private_key", "tokens")} == {
        "(secret)"
    }


def test_a_traceback_is_one_value() -> None:
    stream = configured()
    try:
        raise ZeroDivisionError("boom")
    except ZeroDivisionError:
        get_logger("x").exception("failed")
    assert one_line(stream)["exception"].splitlines()[-1] == "ZeroDivisionError: boom"


def test_libraries_log_from_warning_and_levels_are_respected() -> None:
    stream = configured(level="warning")
    logging.getLogger("aiohttp.server").info("no")
    get_logger("x").info("no")
    get_logger("x").warning("yes")
    assert one_line(stream)["message"] == "yes"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain é", "plain é"),
        ("a\tb\n", "a\\tb\\n"),
        ("\x1b[0m", "\\x1b[0m"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
    ],
)
def test_escape_replaces_unprintable_characters(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_requests_are_counted_and_timed() -> None:
    registry = CollectorRegistry()
    observe = request_observer(registry)
    observe("PATCH", "jobs", 200, 0.003)
    observe("PATCH", "jobs", 200, 0.3)
    observe("PATCH", "jobs", 0, 10)
    labels = {"method": "PATCH", "resource": "jobs"}
    assert registry.get_sample_value("quotree_api_requests_total", {**labels, "code": "200"}) == 2
    assert registry.get_sample_value("quotree_api_requests_total", {**labels, "code": "0"}) == 1
    assert registry.get_sample_value("quotree_api_request_seconds_count", labels) == 3
    assert registry.get_sample_value("quotree_api_request_seconds_bucket", {**labels, "le": "0.005"}) == 1


def test_new_registry_has_process_metrics() -> None:
    body, content_type = render_metrics(new_registry(), "")
    assert b"process_resident_memory_bytes" in body
    assert content_type.startswith("text/plain")
