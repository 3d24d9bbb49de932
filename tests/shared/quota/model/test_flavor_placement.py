"""The flavors of names, and those that exist without an object."""

from shared.quota.model.flavor import Flavor
from shared.quota.model.flavor_placement import find_flavors


def test_flavors_come_in_the_order_of_their_names_and_default_always_exists() -> None:
    known = {name: Flavor(name, node_labels={"pool": name}) for name in ("a", "b")}
    assert find_flavors(["b", "default", "lost", "a", "b"], known) == (
        [known["b"], Flavor("default"), known["a"]],
        ["lost"],
    )


def test_object_named_default_is_taken_instead() -> None:
    own = Flavor("default", node_labels={"pool": "own"})
    assert find_flavors(["default"], {"default": own}) == ([own], [])
