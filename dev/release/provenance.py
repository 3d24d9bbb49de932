"""From what and how the files of a release were made: an in-toto statement with SLSA provenance 1. Pure."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Final = "https://quotree.dev/release/v1"
"""`make release` of the sources named below; docs/install.md describes it."""


class Origin(NamedTuple):
    """From which commit a release was made; empty: from that of none. `builder`: the address of who vouches for it."""

    commit: str
    builder: str


def statement(
    files: Mapping[str, str], origin: Origin, locks: Mapping[str, str], parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return the statement. `files` and `locks`: name → SHA-256."""
    commit = origin.commit
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(files.items())],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": dict(parameters),
                "resolvedDependencies": [
                    *([{"uri": "pkg:generic/quotree", "digest": {"gitCommit": commit}}] if commit else []),
                    *({"name": name, "digest": {"sha256": digest}} for name, digest in sorted(locks.items())),
                ],
            },
            "runDetails": {"builder": {"id": origin.builder}},
        },
    }
