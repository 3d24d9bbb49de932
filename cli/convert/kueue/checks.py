"""Admission checks of Kueue: the hold gate that can stand for each, or that it is lost."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from cli.convert.conversion import Conversion
from cli.read.manifests import Manifest
from shared.api.names import HOLD_GATE_PREFIX

LISTED: Final = "admissionChecks"
STRATEGY: Final = "admissionChecksStrategy"
_PART_OF_KUEUE: Final = "kueue.x-k8s.io/"


class AdmissionChecks:
    """The checks in the files, by name, with the controller that answers each."""

    def __init__(self, manifests: Iterable[Manifest], made: Conversion) -> None:
        self._made = made
        self._manifests = tuple(manifests)
        self._controllers: Mapping[str, str] = {each.name: _controller_of(each) for each in self._manifests}
        self._named: set[str] = set()

    def note_of_queue(self, manifest: Manifest, group: str) -> None:
        """Note what becomes of each check of a ClusterQueue, whose group has this name."""
        spec = manifest.body.get("spec") or {}
        for field, name, flavors in _named_in(spec):
            self._named.add(name)
            controller = self._controllers.get(name, "")
            if controller.startswith(_PART_OF_KUEUE):
                text = f"{name} is left out: {controller} is a part of Kueue, and no part of Quotree does the same"
            else:
                text = (
                    f"{name}: let a webhook of yours label the workloads of {group} "
                    f'{HOLD_GATE_PREFIX}{name}: "true" at creation, and the check take the label off; quota.gates says '
                    "who else may"
                )
                text += f". It holds on every flavor, not on {flavors} alone" if flavors else ""
            self._made.note(manifest, f"spec.{field}", text)

    def note_unnamed(self) -> None:
        """Note which checks no ClusterQueue names: nothing becomes of them."""
        for manifest in self._manifests:
            if manifest.name not in self._named:
                self._made.note(manifest, "", "is left out: no ClusterQueue in the files names it")


def _controller_of(manifest: Manifest) -> str:
    spec = manifest.body.get("spec")
    return str(spec.get("controllerName", "")) if isinstance(spec, dict) else ""


def _named_in(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (field, name of a check, the flavors that it is for, empty for all)."""
    listed, strategy = spec.get(LISTED), spec.get(STRATEGY)
    for name in listed if isinstance(listed, list) else ():
        yield LISTED, str(name), ""
    rules = strategy.get("admissionChecks") if isinstance(strategy, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        if isinstance(rule, dict):
            flavors = rule.get("onFlavors")
            yield STRATEGY, str(rule.get("name")), ", ".join(map(str, flavors)) if isinstance(flavors, list) else ""
