"""Judges an edit without those stored objects on which a rule fails by a fault of Quotree's own, and names them. Pure.

An object with which only the edit fails is not left out: the rule that fails might be one that would refuse the edit.

See docs/specification.md §5.10.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from traceback import format_exception
from typing import Final

from shared.cluster.state.faults.bisection import finish, least_failing
from shared.cluster.state.faults.register import FLAVOR, GROUP, REASON
from shared.problems import place_of
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context, Findings, Violation, check_tree
from shared.quota.model.tree import Group, Tree

_Judge = Callable[[Tree, Context], object]
_Stored = Group | Flavor
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LeftOut(Violation):
    """A stored object that was left out. `place`: where in the code it makes a rule fail; `trace`: the traceback."""

    place: str = ""
    trace: str = field(default="", compare=False, repr=False)


def judge_without_faulty(
    judge: Callable[[Tree, Context], Findings], tree: Tree, context: Context, edited: str
) -> Findings:
    """Return what `judge` finds, and warnings that name what had to be left out for that.

    Raises the error of `judge` if no stored object but `edited` is its cause.
    """
    left_out: list[Violation] = []
    while True:
        try:
            return judge(tree, context) + Findings(warnings=tuple(left_out))
        except Exception as error:
            found = _responsible(judge, tree, context, edited)
            paths = {name: tree[name] for each in found for name in tree.path(each.name) if isinstance(each, Group)}
            if not found or not _fails(check_tree, context, [*paths.values(), *found]):
                raise
            faulty = _faulty_of(found, judge, context, tree.get(edited))
            left_out.append(_left_out(faulty, error))
            tree, context = _only(context, (each for each in _stored(tree, context) if each is not faulty))


def _responsible(judge: _Judge, tree: Tree, context: Context, edited: str) -> Sequence[_Stored]:
    """Return few stored objects with which it fails, and without any one of which it does not; empty: no such."""
    suspects = [each for each in _stored(tree, context) if each.name != edited]
    kept = [each for each in _stored(tree, context) if each.name == edited]
    if not suspects or _fails(judge, context, kept):
        return ()
    return finish(least_failing(suspects, lambda chosen: _fails(judge, context, [*kept, *chosen])))


def _stored(tree: Tree, context: Context) -> list[_Stored]:
    return [*tree.groups.values(), *context.flavors.values()]


def _fails(judge: _Judge, context: Context, stored: Iterable[_Stored]) -> bool:
    try:
        judge(*_only(context, stored))
    except Exception:
        return True
    return False


def _only(context: Context, stored: Iterable[_Stored]) -> tuple[Tree, Context]:
    """Return a tree and a context with these groups and flavors; root is always there."""
    known = list(stored)
    flavors = {each.name: each for each in known if isinstance(each, Flavor)}
    return Tree.of(each for each in known if isinstance(each, Group)), replace(context, flavors=flavors)


def _faulty_of(found: Sequence[_Stored], judge: _Judge, context: Context, edited: Group | None) -> _Stored:
    """Return the newest of those that fail together without whose content, or whose whole, the others do not fail.

    A sum fails with a parent and one of its children: without the child's numbers it does not, without the parent's
    it does.
    """

    def fails_without(each: _Stored) -> bool:
        others: list[_Stored] = [other for other in (edited, *found) if other is not None and other is not each]
        if isinstance(each, Group):
            others.append(Group(each.name, each.parent, each.is_parent))
        return _fails(judge, context, others)

    alone = [each for each in found if not fails_without(each)]
    return max(alone or found, key=lambda each: (isinstance(each, Group) and each.created) or _LONG_AGO)


def _left_out(faulty: _Stored, error: Exception) -> LeftOut:
    kind, place = GROUP if isinstance(faulty, Group) else FLAVOR, place_of(error)
    message = f"meets a fault of Quotree's own at {place}: this edit is judged without it"
    trace = "".join(format_exception(error))
    return LeftOut(REASON, f"{kind}/{faulty.name}", "", message, place=place, trace=trace)
