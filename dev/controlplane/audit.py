"""The requests to the API server with user and response, read from its audit log."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One answered request; a watch appears twice, as it starts (`ResponseStarted`) and ends (`ResponseComplete`)."""

    received: datetime
    stage: str
    user: str
    user_agent: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    uri: str


def write_policy(path: Path) -> Path:
    path.write_text(json.dumps(POLICY))
    return path


def read_events(path: Path) -> Iterator[AuditEvent]:
    """Yield the events in the order they were written; a last line that is still being written is left out."""
    if not path.exists():
        return
    with path.open() as file:
        for line in file:
            if line.endswith("\n"):
                yield _event(json.loads(line))


def _event(line: dict[str, Any]) -> AuditEvent:
    target = line.get("objectRef", {})
    return AuditEvent(
        received=datetime.fromisoformat(line["requestReceivedTimestamp"]),
        stage=line["stage"],
        user=line.get("user", {}).get("username", ""),
        user_agent=line.get("userAgent", ""),
        verb=line["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=line.get("responseStatus", {}).get("code", 0),
        uri=line["requestURI"],
    )
