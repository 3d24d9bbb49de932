"""Label selectors for workloads by their group, as `kubectl get -l` writes them: the label quotree.dev/group alone."""

import re
from dataclasses import dataclass
from typing import Final

from shared.api.names import GROUP_LABEL

_IN: Final = re.compile(r"^\s*([^\s!=,()]+)\s+(in|notin)\s+\(([^()]*)\)\s*$")
_EQUAL: Final = re.compile(r"^\s*([^\s!=,()]+)\s*(!=|==|=)\s*([^\s!=,()]*)\s*$")
_SPLIT: Final = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class GroupSelector:
    """Which groups are wanted (None: all), and which are not."""

    groups: frozenset[str] | None = None
    other_than: frozenset[str] = frozenset()

    def takes(self, group: str) -> bool:
        """Return whether workloads of the group are selected."""
        return (self.groups is None or group in self.groups) and group not in self.other_than


ALL_GROUPS: Final = GroupSelector()


def read_group_selector(selector: str) -> GroupSelector:
    """Read a selector; empty: all. Raises ValueError with what is accepted."""
    wanted: frozenset[str] | None = None
    unwanted: frozenset[str] = frozenset()
    for term in filter(str.strip, _SPLIT.split(selector)):
        label, takes, groups = _term(term)
        if label != GROUP_LABEL:
            raise ValueError(f"labelSelector takes the label {GROUP_LABEL} only")
        if takes:
            wanted = groups if wanted is None else wanted & groups
        else:
            unwanted |= groups
    return GroupSelector(wanted, unwanted)


def _term(term: str) -> tuple[str, bool, frozenset[str]]:
    """(the label, whether its values are wanted, the values)."""
    listed = _IN.match(term)
    if listed is not None:
        return listed[1], listed[2] == "in", frozenset(each.strip() for each in listed[3].split(","))
    equal = _EQUAL.match(term)
    if equal is not None:
        return equal[1], equal[2] != "!=", frozenset({equal[3]})
    if term.strip() == GROUP_LABEL:
        return GROUP_LABEL, False, frozenset()
    raise ValueError(f"labelSelector cannot be read: {term.strip()[:200]!r}")
