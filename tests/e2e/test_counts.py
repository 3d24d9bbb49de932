"""How many workloads run at once, as a lead limits it: what is below waits, and starts when the limit is gone."""

from collections.abc import Iterator

import pytest

from tests.e2e.kubectl_steps import Asking, Object, group

T4 = {"flavor": "t4", "min": {"cpu": "8"}}


def research(*more: Object) -> Object:
    return group("research", isParent=True, quotas=[T4, *more])


@pytest.fixture
def counting(ask: Asking) -> Iterator[Asking]:
    """The tree in which research runs one workload at a time."""
    answer = ask.edit_tree(research({"max": {"workloads": 1}}))
    assert answer.returncode == 0, answer.stderr
    ask.known("research")
    yield ask
    ask.edit_tree(research())
    ask.known("research")


def counted(ask: Asking) -> str:
    """How many workloads of research run, by its status."""
    quotas = ask.group("research").get("status", {}).get("quotas", [])
    return next((str(each["used"]["workloads"]) for each in quotas if each["flavor"] == "counts"), "")


def test_a_second_job_waits_until_the_group_counts_no_more(counting: Asking) -> None:
    counting.submit("first", "vision", 1)
    counting.until("the first one runs and is counted", lambda: counted(counting) == "1")
    counting.submit("second", "language", 1)
    counting.until("the second one is seen", lambda: counting.group("research")["status"]["workloads"]["pending"] == 1)
    assert (counting.is_held("first"), counting.is_held("second")) == (False, True)
    assert counting.edit_tree(research()).returncode == 0
    counting.until("the second one runs", lambda: not counting.is_held("second"))


def test_count_of_a_flavor_and_a_fraction_are_refused_with_what_to_write(ask: Asking) -> None:
    of_flavor = ask.edit_tree(research({"flavor": "a100", "max": {"pods": 1}}))
    fraction = ask.edit_tree(research({"max": {"pods": "1500m"}}))
    assert (of_flavor.returncode, fraction.returncode) == (1, 1)
    assert "name them in an entry without flavor (CountOfFlavor)" in of_flavor.stderr
    assert "1500m is not a whole number of pods or workloads; write one such as 20" in fraction.stderr
