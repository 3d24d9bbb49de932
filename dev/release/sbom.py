"""The list of an image's packages as a CycloneDX 1.5 document. Pure: packages in, document out."""

import uuid
from collections.abc import Sequence
from typing import Any

from dev.release.contents import Package

NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
"""The one for URLs of RFC 4122."""


def document(name: str, version: str, digest: str, created: str, packages: Sequence[Package]) -> dict[str, Any]:
    """`digest` is the image archive's: the same image has the same list, with the same serial number."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {
                "type": "container",
                "bom-ref": name,
                "name": name,
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": [_component(package) for package in packages],
    }


def _component(package: Package) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
    }
    if package.license:
        component["licenses"] = [{"license": {"name": package.license}}]
    return component
