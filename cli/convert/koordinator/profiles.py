"""Koordinator's ElasticQuotaProfiles: each makes a tree of quotas for the nodes of its selector, here a flavor."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cli.convert.conversion import Conversion, read_object
from cli.convert.draft import NamedParent, QuotaGroupDraft
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import View, reader
from shared.api.names import API_VERSION
from shared.quota.model.tree import DEFAULT_FLAVOR

API: Final = "quota.koordinator.sh/"
_ALL: Final = ("", "1", "1.0")


class _Selector(View, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[dict[str, Any]] = []


class _Spec(View, frozen=True):
    quota_name: str = ""
    node_selector: _Selector = _Selector()
    resource_ratio: str = ""


class _Profile(View, frozen=True):
    spec: _Spec = _Spec()


_read = reader(_Profile)


def convert_profiles(manifests: Sequence[Manifest], named: list[NamedParent], made: Conversion) -> dict[str, str]:
    """Add a flavor for each profile, and the root of its tree where it is not in the files.

    Returns the name of a root -> the flavor of its tree.
    """
    profiles = [each for each in manifests if each.kind == "ElasticQuotaProfile" and each.api_version.startswith(API)]
    check_unique(profiles)
    flavors = {}
    for manifest in profiles:
        spec = read_object(_read, manifest).spec
        flavor = {"nodeLabels": spec.node_selector.match_labels}
        made.flavors.append(
            {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": manifest.name}, "spec": flavor}
        )
        if spec.node_selector.match_expressions:
            made.note(manifest, "spec.nodeSelector.matchExpressions", "is left out: a flavor has nodeLabels alone")
        if spec.resource_ratio not in _ALL:
            text = (
                f"{spec.resource_ratio} is left out: capacity is what the nodes offer; for less, give "
                f"{spec.quota_name} a max such as 90% of each resource"
            )
            made.note(manifest, "spec.resourceRatio", text)
        if all(each.source != spec.quota_name for each in named):
            root = made.add_group(manifest, spec.quota_name, "quota", is_parent=True)
            named.append(NamedParent(root, spec.quota_name, ""))
        flavors[spec.quota_name] = manifest.name
    return flavors


def set_flavors(
    groups: Mapping[str, QuotaGroupDraft], named: Sequence[NamedParent], flavors: Mapping[str, str]
) -> None:
    """Put the quota of each tree into its flavor."""
    roots = {each.draft.name: flavors[each.source] for each in named if each.source in flavors}
    for draft in groups.values():
        path, above = {draft.name}, draft
        while above.name not in roots and (parent := groups.get(above.parent or "")) and parent.name not in path:
            above = parent
            path.add(above.name)
        if above.name in roots and DEFAULT_FLAVOR in draft.entries:
            draft.entries[roots[above.name]] = draft.entries.pop(DEFAULT_FLAVOR)
