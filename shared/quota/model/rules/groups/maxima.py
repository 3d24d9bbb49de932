"""What a group may set of settings that bind others is bounded for the whole cluster.

See docs/specification.md §4.3 and §11.2.
"""

from collections.abc import Iterator
from datetime import timedelta

from shared.api.durations import write_duration
from shared.quota.model.lifecycle import LifecycleValue, above_maximum, size_of, written_name
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group
from shared.quota.model.tree import Tree


def check_maxima(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """What a group sets of its own is at most what `quota.maxima` allows: longer times would bind other groups."""
    group, maxima = tree[name], context.maxima
    parts = (
        ("reclaim.", group.reclaim, maxima.reclaim),
        ("startup.", group.startup, maxima.startup),
        ("queueing.", group, maxima.queueing),
        ("", group, maxima.run_time),
    )
    for part, own, most in parts:
        for setting, value, bound in above_maximum(own, most):
            field = f"{part}{written_name(setting)}"
            message = f"is {_text(value)}, at most {_text(bound)} is allowed (quota.maxima.{field}); lower it"
            excess, subject = size_of(value) - size_of(bound), (name, field)
            yield Violation("AboveMaximum", of_group(name), f"spec.{field}", message, subject=subject, excess=excess)


def _text(value: LifecycleValue) -> str:
    return write_duration(value) if isinstance(value, timedelta) else str(value)
