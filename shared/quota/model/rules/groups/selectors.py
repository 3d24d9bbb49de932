"""Which namespaces a group admits: whether the selector is one, and which groups have none.

See docs/specification.md §4.2 and §15.1.
"""

from collections.abc import Iterator

from shared.api.core.placement import Requirement
from shared.api.core.selectors import LabelSelector
from shared.quota.model.membership import selector_of
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import is_label_value, is_resource_name, of_group, shortened
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import ROOT, SYSTEM, Group, Tree

_FIELD = "spec.namespaceSelector"


def check_selector(group: Group) -> Iterator[Violation]:
    """A namespaceSelector is a label selector that the API server would accept."""
    if group.namespace_selector is not None:
        for field, message in _problems(group.namespace_selector):
            yield Violation("BadNamespaceSelector", of_group(group.name), field, message)


def warn_open_groups(tree: Tree) -> Iterator[Violation]:
    """A leaf without a namespaceSelector on its path takes workloads of every namespace (`quota.openGroups`)."""
    leaves = sorted(set(tree.leaves_below(ROOT)) - {SYSTEM})
    found = [name for name in leaves if selector_of(tree.get, name) is None]
    if found:
        message = (
            f"no namespaceSelector is set here or on the path of {listed(found)}, so workloads of every "
            "namespace may use them; give one to root or to groups, or set quota.openGroups: false"
        )
        yield Violation("OpenGroups", of_group(ROOT), _FIELD, message)


def _problems(selector: LabelSelector) -> Iterator[tuple[str, str]]:
    for key, value in selector.match_labels.items():
        if not is_resource_name(key):
            yield f"{_FIELD}.matchLabels", f'"{shortened(key)}" is not a label key; write one such as team'
        if not is_label_value(value):
            yield f"{_FIELD}.matchLabels[{key}]", f'"{shortened(value)}" is not a label value'
    for at, requirement in enumerate(selector.match_expressions):
        for message in _requirement_problems(requirement):
            yield f"{_FIELD}.matchExpressions[{at}]", message


def _requirement_problems(requirement: Requirement) -> Iterator[str]:
    listed = requirement.operator in ("In", "NotIn")
    if not is_resource_name(requirement.key):
        yield f'"{shortened(requirement.key)}" is not a label key; write one such as team'
    if not listed and requirement.operator not in ("Exists", "DoesNotExist"):
        yield f'operator is "{shortened(requirement.operator)}"; write In, NotIn, Exists or DoesNotExist'
    elif listed and not requirement.values:
        yield f"the requirement on {requirement.key} is {requirement.operator} without values; give at least one"
    elif not listed and requirement.values:
        yield f"the requirement on {requirement.key} is {requirement.operator} with values; take them out"
    for value in requirement.values:
        if not is_label_value(value):
            yield f'"{shortened(value)}" is not a label value'
