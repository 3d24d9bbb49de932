"""A conversion ends with what `check` finds in the result, and with what would not start."""

from pathlib import Path

from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import kueue, local_queue, queue, quotas

JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {generateName: %s-, namespace: one, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  template: {spec: {containers: [{name: main, image: none, resources: {requests: {cpu: %s}}}]}}
"""
NODE = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 4}}\n"
QUICK_START = (
    kueue("ResourceFlavor", "std", {}) + queue("a", "", resourceGroups=quotas("std", cpu=9)) + local_queue("one", "a")
)


def test_quick_start_starts(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUICK_START + JOB % ("x", 4) + JOB % ("x", 5))
    assert made.judged == ["0 violations, 0 warnings; 2 of 2 workloads start in a simulation with nodes enough"]


def test_what_waits_for_others_is_counted_and_what_never_fits_is_named(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUICK_START + JOB % ("large", 12) + JOB % ("x", 6) + JOB % ("y", 6))
    assert made.judged[-1] == "0 violations, 1 warning; 1 of 3 workloads start in a simulation with nodes enough"
    (named,) = [each for each in made.judged[:-1] if not each.startswith("warning: ")]
    assert named.startswith("Job 'one/large-00001' waits: ")
    assert named.endswith(" (NeverFits)")


def test_nodes_in_the_files_are_those_of_the_simulation(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUICK_START + NODE + JOB % ("x", 5) + JOB % ("y", 4))
    assert made.judged[-1].endswith("1 of 2 workloads start in a simulation with the nodes in the files")


def test_flavors_of_the_same_nodes_are_warned_of_and_nothing_starts_in_them(tmp_path: Path) -> None:
    made = Converted(tmp_path, kueue("ResourceFlavor", "spot", {}) + QUICK_START + JOB % ("x", 1))
    assert [each.rpartition("(")[2] for each in made.judged[:-1]] == [
        "AmbiguousFlavor)",
        "AmbiguousFlavor)",
        "NeverFits)",
    ]
    assert made.judged[-1].endswith("0 of 1 workloads start in a simulation with nodes enough")


def test_priorities_that_the_values_have_to_name_are_taken_as_named(tmp_path: Path) -> None:
    urgent = kueue("WorkloadPriorityClass", "urgent", {}).replace("spec: {}", "value: 7")
    job = (JOB % ("x", 4)).replace("main}", "main, kueue.x-k8s.io/priority-class: urgent}")
    made = Converted(tmp_path, QUICK_START + urgent + job)
    assert made.judged == ["0 violations, 0 warnings; 1 of 1 workloads start in a simulation with nodes enough"]
    assert made.exit_code == 0


def test_illegal_result_ends_with_exit_code_1(tmp_path: Path) -> None:
    labels = {"nodeLabels": {"gpu type": "a"}}
    made = Converted(tmp_path, kueue("ResourceFlavor", "std", labels) + queue("a"))
    assert (made.exit_code, made.judged[0].rpartition("(")[2]) == (1, "BadNodeLabel)")
