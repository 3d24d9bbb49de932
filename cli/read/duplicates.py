"""Two manifests of one object: kubectl silently applies the later one over the first, so both places are named."""

from collections.abc import Iterable

from cli.read.manifests import Manifest
from shared.problems import Problem


def check_unique(manifests: Iterable[Manifest]) -> None:
    """Raise Problem with every object that is written twice, and both places of it.

    The version does not matter: one ClusterQueue can be written as v1beta1 and as v1beta2.
    """
    first: dict[tuple[str, str, str, str], Manifest] = {}
    problems = []
    for each in manifests:
        api_group = each.api_version.rpartition("/")[0]
        known = first.setdefault((api_group, each.kind, each.namespace or "default", each.name), each)
        if known is not each:
            problems.append(f"{each.label} {describe_duplicate(known, each)}")
    if problems:
        raise Problem("\n".join(problems))


def describe_duplicate(first: Manifest, second: Manifest) -> str:
    """Both places of an object, and what to do."""
    return f"is in {_place(first)} and again in {_place(second)}; keep one of them"


def _place(manifest: Manifest) -> str:
    return f"{manifest.file}:{manifest.line_of('metadata.name')}"
