"""A preemptor is called by its name, also where only its uid was written."""

from shared.quota.outlook.advise.preemptor_names import PreemptorNames
from tests.builders import pending, running, world


def test_written_name_comes_before_what_the_uid_says() -> None:
    names = PreemptorNames(
        world("root 8\n  a 4", [pending("a", 1, "waits", uid="w"), running("a", 1, "runs", uid="r")])
    )
    found = [names.of(*written) for written in (("ns/gone", "w"), ("", "w"), ("", "r"), ("", "other"), ("", ""))]
    assert found == ["ns/gone", "ns/waits", "ns/runs", "", ""]


def test_workload_without_a_uid_is_not_the_one_that_is_not_written() -> None:
    assert PreemptorNames(world("root 8\n  a 4", [pending("a", 1, "waits", uid="")])).of("", "") == ""
