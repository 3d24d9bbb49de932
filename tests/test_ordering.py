"""The order of a run with several workers: nothing is lost, modules that last begin the parts, which last equally."""

from tests.ordering import LONG, START, TOGETHER, Module, arranged
from tests.project.repository import ROOT


def module(path: str, first: int, number: int, seconds: float = 0.0, *planes: str) -> Module:
    return Module(path, tuple(range(first, first + number)), seconds, frozenset(planes))


def test_every_part_starts_with_long_modules_and_ends_with_short_ones() -> None:
    modules = [module("pure", 0, 10), module("a", 10, 2, 50), module("b", 12, 2, 40), module("c", 14, 2, 20)]
    assert arranged(modules, 2) == [10, 11, *range(6), 12, 13, 14, 15, *range(6, 10)]


def test_modules_that_share_a_control_plane_stay_together() -> None:
    shared = [module(f"shared-{at}", 7 + at, 1, 10, "world") for at in range(4)]
    order = arranged([module("pure", 0, 7), *shared, module("alone", 11, 1, 40)], 2)
    assert order == [11, *range(5), 7, 8, 9, 10, 5, 6]


def test_modules_are_separated_where_a_second_control_plane_finishes_earlier() -> None:
    shared = [module(f"shared-{at}", 7 + at, 1, 2 * START, "world") for at in range(4)]
    order = arranged([module("pure", 0, 7), *shared], 2)
    assert (order[:2], order[5:7]) == ([7, 9], [8, 10])


def test_parts_alternate_between_computing_and_waiting_modules() -> None:
    pairs = [(module(f"pure-{at}", at, 1, 30), module(f"live-{at}", 2 + at, 1, 20, f"world-{at}")) for at in range(2)]
    assert arranged([each for pair in pairs for each in pair], 2) == [0, 2, 3, 1]


def test_module_too_long_for_a_part_is_divided() -> None:
    modules = [module("large", 0, 5, 100), module("small", 5, 1, 8)]
    assert sorted(arranged(modules, 2)) == list(range(6))


def test_listed_long_modules_exist() -> None:
    assert [path for path in LONG if not (ROOT / "tests" / path).is_file() and f"tests/{path}" not in TOGETHER] == []


def test_folders_ordered_as_one_module_exist_and_share_a_control_plane() -> None:
    assert [folder for folder in TOGETHER if not (ROOT / folder / "conftest.py").is_file()] == []
