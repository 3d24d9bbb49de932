"""An operator's manifests for a program on this host: definitions, rights, and webhooks called by URL.

Pure: objects in, objects out.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Final

# The program runs as a process of ours, its settings and certificates come from files.
_LEFT_OUT: Final = frozenset({"Deployment", "Job", "Service", "Secret", "ConfigMap"})


def on_this_host(objects: Iterable[Mapping[str, Any] | None], url: str, authority: bytes) -> list[dict[str, Any]]:
    """Return everything but what runs the program, with webhooks at `url` whose CA is `authority` (PEM)."""
    bundle = base64.b64encode(authority).decode()
    return [_reached(dict(each), url, bundle) for each in objects if each and each["kind"] not in _LEFT_OUT]


def _reached(each: dict[str, Any], url: str, bundle: str) -> dict[str, Any]:
    if "webhooks" not in each:
        return each
    hooks = []
    for hook in each["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        hooks.append({**hook, "clientConfig": {"url": f"{url}{path}", "caBundle": bundle}})
    return {**each, "webhooks": hooks}


def webhook_paths(objects: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """Return the paths at which the API server calls the operator, if it does at all."""
    hooks = [hook for each in objects if each is not None for hook in each.get("webhooks", ())]
    return [hook["clientConfig"]["service"]["path"] for hook in hooks]
