"""Where workloads wait, and by what is available where a group is judged."""

from shared.quota.decide.state.smallest_requests import Smallest, SmallestRequests
from shared.quota.decide.state.waiting_tree import WaitingTree
from shared.quota.measure.group_usage import Numbers
from shared.resources import FlavorResource
from tests.builders import NOW

KEY = FlavorResource("default", "cpu")


def test_group_is_bounded_by_its_parent_first_unless_it_keeps_a_guarantee() -> None:
    numbers = {"root": Numbers(), "p": Numbers(), "q": Numbers(guarantee=3), "a": Numbers(), "c": Numbers()}
    parents = {"root": None, "p": "root", "q": "root", "a": "p", "c": "q"}
    tree = WaitingTree({name: {KEY: own} for name, own in numbers.items()}, parents)
    tree.add(("a", "p", "root"))
    tree.add(("c", "q", "root"))

    assert tree.bounds("root") == (("root",),)
    assert tree.bounds("p") == (("root",), ("p", "root"))
    assert tree.bounds("q") == (("q", "root"),)


def test_bound_of_a_group_rises_again_to_what_still_waits_below_it() -> None:
    tree = WaitingTree(
        {name: {KEY: Numbers()} for name in ("root", "a", "b")}, {"root": None, "a": "root", "b": "root"}
    )
    tree.add(("a", "root"))
    tree.add(("b", "root"))
    tree.update(("b", "root"), _requests(5))
    for amount in range(2, 20):
        tree.update(("a", "root"), _requests(amount))

    assert tree.requests["root"] == _requests(5)


def _requests(amount: int) -> SmallestRequests:
    return {(KEY,): Smallest((amount,), beyond_min=False, oldest=NOW)}
