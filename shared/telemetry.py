"""Structured logs and Prometheus metrics of a process.

A log line is a constant message and key=value pairs, as one JSON object per line. Whatever a user could have written
is escaped; values under keys that name secrets are blotted out.
"""

import json
import logging
import re
import sys
from collections.abc import Callable
from typing import Any, Literal, TextIO, cast

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LogForm = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]
_SECRET = re.compile(r"token|password|passwd|secret|authorization|credential|private.?key|tls\.key", re.IGNORECASE)
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def configure_logging(level: LogLevel = "info", form: LogForm = "json", stream: TextIO | None = None) -> None:
    """Send all logs, also those of libraries, to `stream` (standard error). Libraries speak from WARNING on."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _blot_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _write_json if form == "json" else _write_text,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("quotree").setLevel(level.upper())


def get_logger(name: str) -> FilteringBoundLogger:
    """Return a logger under `quotree.`: log.info("job started", job="team-a/train-7", group="vision")."""
    return cast("FilteringBoundLogger", structlog.stdlib.get_logger(f"quotree.{name}"))


def escape(text: str) -> str:
    """Text that a person may have written, with every unprintable character spelled out."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "replace").decode("ascii") for each in text
    )


def _blot_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for key in event:
        if _SECRET.search(key):
            event[key] = "(secret)"
    return event


def _write_json(_: WrappedLogger, __: str, event: EventDict) -> str:
    # ASCII only: neither line separators nor terminal controls of any alphabet reach a terminal.
    return json.dumps({"message": event.pop("event", ""), **event}, default=str, ensure_ascii=True)


def _write_text(_: WrappedLogger, __: str, event: EventDict) -> str:
    trace = event.pop("exception", None)
    head = f"{event.pop('timestamp', '')} {event.pop('level', ''):<7} {escape(str(event.pop('event', '')))}"
    pairs = "".join(f" {key}={_quote(str(value))}" for key, value in event.items())
    return f"{head}{pairs}\n{trace}" if trace else f"{head}{pairs}"


def _quote(text: str) -> str:
    return text if text.isprintable() and text and not set(' "=') & set(text) else json.dumps(text, ensure_ascii=True)


def new_registry() -> CollectorRegistry:
    """Return a registry that begins with what the process itself uses: memory, CPU, files, garbage collection."""
    # Else a second series stands beside each counter, which nothing reads.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry(auto_describe=True)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def render_metrics(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return the metrics in the form the scraper accepts, and that form's content type."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def request_observer(registry: CollectorRegistry) -> Callable[[str, str, int, float], None]:
    """Counts and times requests to the API server; for `Client(on_request=…)`."""
    total = Counter(
        "quotree_api_requests", "Requests to the API server.", ["method", "resource", "code"], registry=registry
    )
    seconds = Histogram(
        "quotree_api_request_seconds",
        "How long requests to the API server took.",
        ["method", "resource"],
        buckets=_REQUEST_BUCKETS,
        registry=registry,
    )
    children: dict[tuple[str, str, int], tuple[Any, Any]] = {}

    def observe(method: str, resource: str, code: int, took: float) -> None:
        key = (method, resource, code)
        if (known := children.get(key)) is None:
            known = children[key] = (total.labels(method, resource, str(code)), seconds.labels(method, resource))
        known[0].inc()
        known[1].observe(took)

    return observe
