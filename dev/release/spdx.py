"""The list of an image's packages as an SPDX 2.3 document. Pure: packages in, document out."""

import re
from collections.abc import Sequence
from typing import Any

from dev.release.contents import Package

_IMAGE = "SPDXRef-image"


def document(name: str, version: str, digest: str, created: str, packages: Sequence[Package]) -> dict[str, Any]:
    """Return the document; `digest` is the image archive's, which also makes its address unique."""
    image = {
        "SPDXID": _IMAGE,
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "primaryPackagePurpose": "CONTAINER",
    }
    found = [_package(each) for each in packages]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://quotree.dev/spdx/{digest}",
        "creationInfo": {"created": created, "creators": [f"Tool: quotree-release-{version}"]},
        "documentDescribes": [_IMAGE],
        "packages": [image, *found],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": _IMAGE},
            *(
                {"spdxElementId": _IMAGE, "relationshipType": "CONTAINS", "relatedSpdxElement": each["SPDXID"]}
                for each in found
            ),
        ],
    }


def _package(package: Package) -> dict[str, Any]:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package.kind}-{package.name}-{package.version}"),
        "name": package.name,
        "versionInfo": package.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        # What packages say of their license is rarely an SPDX expression, which a declared license must be.
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        **({"licenseComments": package.license} if package.license else {}),
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": package.url}
        ],
    }
