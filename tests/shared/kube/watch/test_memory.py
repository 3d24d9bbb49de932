"""The garbage collector of a process that holds many records."""

import gc
from collections.abc import Iterator

import pytest

from shared.kube.watch.memory import collect_seldom, freeze_memory, keep_all_made

SELDOM = (50_000, 20, 100)


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_garbage_collection_is_rare_while_the_first_list_is_read() -> None:
    collect_seldom()
    assert gc.get_threshold() == SELDOM


def test_garbage_collection_skips_kept_objects_after_the_first_list() -> None:
    kept = [{"a": [str(number)]} for number in range(300_000)]
    freeze_memory()
    assert gc.get_freeze_count() >= len(kept)
    assert gc.get_threshold() == SELDOM


def test_what_a_first_decision_makes_is_never_traversed() -> None:
    gc.set_threshold(100, 5, 5)
    before = gc.get_freeze_count(), [each["collections"] for each in gc.get_stats()]
    with keep_all_made():
        kept = [{"a": [str(number)]} for number in range(10_000)]
    assert [each["collections"] for each in gc.get_stats()] == before[1]
    assert gc.get_freeze_count() >= before[0] + len(kept)
    assert gc.isenabled()
