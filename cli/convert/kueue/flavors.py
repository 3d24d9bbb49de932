"""Kueue's ResourceFlavors: the one without node labels becomes Quotree's `default`.

In Kueue a flavor need not say which nodes are its own. In Quotree a node counts for one flavor, so that of several
flavors without labels one gets all nodes that no other flavor has, and the others none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cli.convert.conversion import Conversion
from cli.read.manifests import Manifest
from shared.api.names import API_VERSION
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import DEFAULT_FLAVOR

_FIELDS: Final = ("nodeLabels", "nodeTaints", "tolerations")


def convert_flavors(manifests: Sequence[Manifest], made: Conversion) -> Mapping[str, str]:
    """Add the flavors; return the new name of each that is called otherwise in Quotree."""
    specs = {each.name: _spec(each, made) for each in manifests}
    unlabelled = [each for each in manifests if not specs[each.name].get("nodeLabels")]
    renamed = {}
    if len(unlabelled) == 1 and DEFAULT_FLAVOR not in specs:
        renamed[unlabelled[0].name] = DEFAULT_FLAVOR
        text = f"is called {DEFAULT_FLAVOR} here: the flavor of the nodes that no other flavor has"
        made.note(unlabelled[0], "metadata.name", text)
    elif len(unlabelled) > 1:
        _note_ambiguous(unlabelled, made)
    for name, spec in specs.items():
        written = renamed.get(name, name)
        if spec or written != DEFAULT_FLAVOR:  # an empty flavor of this name is there from the first start
            made.flavors.append(
                {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": written}, "spec": spec}
            )
    return renamed


def _spec(manifest: Manifest, made: Conversion) -> dict[str, Any]:
    spec = manifest.body.get("spec") or {}
    made.note_left_out(manifest, _FIELDS)
    return {name: spec[name] for name in _FIELDS if spec.get(name)}


def _note_ambiguous(unlabelled: Sequence[Manifest], made: Conversion) -> None:
    names = sorted(each.name for each in unlabelled)
    for manifest in unlabelled:
        others = listed([name for name in names if name != manifest.name])
        text = (
            f"is absent, as in {others}: a node counts for one flavor, so that one of them at most gets nodes; "
            "label the nodes of each, and write nodeLabels"
        )
        made.note(manifest, "spec.nodeLabels", text)
