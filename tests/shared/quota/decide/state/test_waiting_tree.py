"""Where workloads wait, and by what is available where a group is judged."""

from shared.quota.decide.state.waiting_tree import WaitingTree
from shared.quota.measure.group_usage import Numbers
from shared.resources import FlavorResource

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
