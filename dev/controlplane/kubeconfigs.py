"""A kubeconfig file for one identity, by token or by client certificate."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path


def with_token(path: Path, *, url: str, authority: Path, token: str) -> Path:
    return _write(path, url, authority, {"token": token})


def with_certificate(path: Path, *, url: str, authority: Path, certificate: Path, key: Path) -> Path:
    return _write(
        path,
        url,
        authority,
        {"client-certificate-data": _inline(certificate), "client-key-data": _inline(key)},
    )


def _write(path: Path, url: str, authority: Path, user: Mapping[str, str]) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "control-plane",
        "clusters": [
            {"name": "control-plane", "cluster": {"server": url, "certificate-authority-data": _inline(authority)}}
        ],
        "users": [{"name": "user", "user": dict(user)}],
        "contexts": [{"name": "control-plane", "context": {"cluster": "control-plane", "user": "user"}}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, indent=2))
    return path


def _inline(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
