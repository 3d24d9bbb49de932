"""What an object of a governed kind must obey beside the rules for every workload: it can be read, and governed whole.

See docs/specification.md §4.7 and §13.2.
"""

from collections.abc import Iterator

from shared.kinds.kind_object import KindObject
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import shortened


def check_kind_object(name: str, seen: KindObject) -> Iterator[Violation]:
    """Everything that keeps the object `name` from being governed."""
    yield from check_readable(name, seen)
    yield from check_governed_whole(name, seen)


def check_readable(name: str, seen: KindObject) -> Iterator[Violation]:
    """The flag, the pod sets and their numbers can be read as the kind's descriptor says."""
    for problem in seen.problems:
        yield Violation("KindUnreadable", name, "", problem)


def check_governed_whole(name: str, seen: KindObject) -> Iterator[Violation]:
    """It is not of those that the kind's descriptor refuses; the message says why, and what its owner can do."""
    for refusal in seen.refusals:
        yield Violation("KindRefused", name, "", refusal)


def check_scale(kind: str, name: str, was: int, now: int) -> Iterator[Violation]:
    """Its scale subresource raises no managed object: such a write does not show what the object would request."""
    if now > was:
        message = (
            f"scaled from {was} to {now}, which nobody can judge: take it out of its HorizontalPodAutoscaler, "
            f"and change the {shortened(kind)} itself while it waits"
        )
        yield Violation("GrowthWhileRunning", f"{kind}/{name}", "spec.replicas", message)
