"""Example files of other projects are counted by what becomes of them."""

from pathlib import Path

from tests.cli.convert.examples import Outcome, converted, example_files, table
from tests.cli.convert.kueue.manifests import kueue, local_queue, queue

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: one, namespace: team, labels: {kueue.x-k8s.io/queue-name: own}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: a, resources: {requests: {cpu: %s}}}]
"""


def test_each_example_file_has_an_outcome(tmp_path: Path) -> None:
    files = {
        "queue.yaml": kueue("ResourceFlavor", "a100", {}) + queue("labs") + local_queue("team", "labs", "own"),
        "job.yaml": JOB % 1,
        "large.yaml": JOB % 1000,
        "plain.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
        "values.yaml": "replicas: 1",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = {each.name: converted(each, tmp_path / "queue.yaml")[0] for each in example_files(tmp_path)}
    assert found == {
        "queue.yaml": Outcome.NO_WORKLOAD,
        "job.yaml": Outcome.STARTS,
        "large.yaml": Outcome.WAITS,
        "plain.yaml": Outcome.NOTHING,
        "values.yaml": Outcome.REFUSED,
    }
    assert next(table([])).startswith("|")


def test_templates_of_a_chart_are_no_examples(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    for name in ("Chart.yaml", "templates/pod.yaml"):
        (tmp_path / name).write_text("a: b")
    assert [each.name for each in example_files(tmp_path)] == ["Chart.yaml"]
