"""A public class name means one thing in the whole project."""

from collections import defaultdict

from tests.repository import ROOMS, public_classes


def test_no_two_public_classes_share_a_name() -> None:
    files = defaultdict(list)
    for name, file in public_classes(*ROOMS):
        files[name].append(file)
    assert {name: found for name, found in files.items() if len(found) > 1} == {}
