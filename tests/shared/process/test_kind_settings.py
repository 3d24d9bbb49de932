"""`kinds:` of the settings file: presets and descriptors, and every mistake with file, line and key."""

from pathlib import Path

import pytest

from reconciler.settings import ReconcilerSettings
from shared.process.settings import SettingsProblem, load_settings
from webhook.settings import WebhookSettings

GOOD = """\
kinds:
- preset: jobset
- preset: pytorchjob
  operators: [system:serviceaccount:training:operator]
- apiVersion: example.com/v1
  kind: Crunch
  resource: crunches
  suspend: .spec.paused
  podSets:
  - name: main
    template: .spec.template
    values: {n: .spec.size | 1}
    count: n * 2
  finished:
  - {path: .status.phase, in: [Done]}
"""


def refusals(folder: Path, text: str) -> list[str]:
    path = folder / "s.yaml"
    path.write_text(text)
    with pytest.raises(SettingsProblem) as caught:
        load_settings(path, WebhookSettings)
    return [line.strip().removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize("settings", [WebhookSettings, ReconcilerSettings])
def test_both_processes_read_the_same_kinds(
    tmp_path: Path, settings: type[WebhookSettings] | type[ReconcilerSettings]
) -> None:
    (tmp_path / "s.yaml").write_text(GOOD)
    kinds = load_settings(tmp_path / "s.yaml", settings).governed
    assert [(each.kind, sorted(each.operators)) for each in kinds.all] == [
        ("JobSet", ["system:serviceaccount:jobset-system:jobset-controller-manager"]),
        ("PyTorchJob", ["system:serviceaccount:training:operator"]),
        ("Crunch", []),
    ]


def test_only_jobs_and_pods_are_governed_by_default(tmp_path: Path) -> None:
    assert load_settings(None, WebhookSettings).governed.all == ()


def test_invalid_descriptor_is_reported_with_line_and_key(tmp_path: Path) -> None:
    text = GOOD.replace("preset: jobset", "preset: jobsets").replace("n * 2", "m * 2").replace("[Done]", "[]")
    assert refusals(tmp_path, text) == [
        "3 errors:",
        (
            "s.yaml:2: kinds[0].preset: 'jobsets' is none; there are jobset, raycluster, rayjob, pytorchjob, tfjob, "
            "mpijob, trainjob, leaderworkerset, appwrapper, sparkapplication"
        ),
        "s.yaml:13: kinds[2].podSets[0].count: 'm * 2' reads m; `values` has n",
        "s.yaml:15: kinds[2].finished[0].path: give either `in` or `present` with it",
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "refusal"),
    [
        ("  resource: crunches\n", "", "s.yaml:5: kinds[2].resource: is missing"),
        ("suspend: .spec.paused", "suspend: .paused", "s.yaml:8: kinds[2].suspend: '.paused' is no member below .spec"),
        ("suspend: ", "suspnd: ", "s.yaml:8: kinds[2].suspnd: unknown key; did you mean suspend?"),
        (
            ".spec.size | 1",
            ".spec.size | x",
            "s.yaml:12: kinds[2].podSets[0].values: '.spec.size | x': 'x' is no number",
        ),
        ("operators: [", "operators: [3, ", "s.yaml:4: kinds[1].operators[0]: 3 is not text"),
        ("preset: pytorchjob", "preset: jobset", "s.yaml:2: kinds: JobSet of jobset.x-k8s.io is there twice"),
        (
            "kind: Crunch",
            "kind: Job",
            "s.yaml:6: kinds[2].kind: Job of example.com/v1 is ambiguous: workloads ",
        ),
        ("kind: Crunch", "kind: podgroup", "s.yaml:6: kinds[2].kind: podgroup of example.com/v1 is ambiguous: "),
        (
            "kind: Crunch",
            "kind: Jobset",
            "s.yaml:2: kinds: JobSet of jobset.x-k8s.io and Jobset of example.com are ambiguous: workloads are ",
        ),
    ],
)
def test_invalid_kind_settings_are_refused(tmp_path: Path, was: str, becomes: str, refusal: str) -> None:
    (found,) = refusals(tmp_path, GOOD.replace(was, becomes))
    assert found.startswith(refusal)
