"""What exists after an API server was killed: the last lines of its log are lost, their writes are not.

The witness lists everything and writes it into the log in the log's own form, as of the moment of the kill.
"""

import json
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dev.controlplane.cluster import ControlPlane

OBSERVE: Final = "observe"
"""The verb of the witness's lines."""
PATIENCE: Final = 30.0


def append_final_list(control_plane: ControlPlane, log: Path, killed: datetime, paths: Mapping[str, str]) -> None:
    """Append one line for each object that is there, and one for each resource that says which are.

    `paths`: where each resource is listed.
    """
    for resource, path in paths.items():
        found = _list(control_plane, path)
        present = {"kind": "Present", "uids": [each["metadata"]["uid"] for each in found]}
        lines = [_line(resource, killed, present), *(_line(resource, killed, each) for each in found)]
        with log.open("ab", buffering=0) as file:
            for line in lines:
                file.write(line)


def _list(control_plane: ControlPlane, path: str) -> list[dict[str, Any]]:
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            status, body = control_plane.rest.request("GET", path)
            if status == 200:
                return list(body["items"])
        except OSError:
            pass
        if time.monotonic() > ends:
            raise ConnectionError(f"GET {path} was not answered after the API server was started again")
        time.sleep(0.1)


def _line(resource: str, killed: datetime, body: dict[str, Any]) -> bytes:
    metadata = body.get("metadata", {})
    event = {
        "kind": "Event",
        "verb": OBSERVE,
        "requestReceivedTimestamp": killed.isoformat(),
        "user": {"username": "witness"},
        "objectRef": {
            "resource": resource,
            "subresource": "status",
            "namespace": metadata.get("namespace", ""),
            "name": metadata.get("name", ""),
        },
        "responseStatus": {"code": 200},
        "responseObject": {"kind": "Whole", **body},
    }
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"
