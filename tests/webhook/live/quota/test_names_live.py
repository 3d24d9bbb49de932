"""Nobody but Quotree writes its annotations and its unit label, in any namespace and without any webhook.

The policy is the chart's own, beside nothing else of Quotree: what it refuses cannot be made to count later by a label.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.gadgets.gadget import DEFINITION, DESCRIPTOR, OPERATOR, part
from tests.webhook.live.test_workloads_live import AS_RECONCILER, admitted, patch
from tests.webhook.webhook_process import RECONCILER, AdmissionSetup, job_body, wait_for, words

CHART = Path(__file__).parents[4] / "charts" / "quotree"
ADMISSION = "quotree.dev/admission"
UNIT = {"quotree.dev/unit": "0a1b"}
FORGED = {ADMISSION: admitted("t4")}
EVICTED = {
    "quotree.dev/eviction": json.dumps(
        {"reason": "Reclaimed", "time": "9999-12-31T23:59:00Z", "flavors": {}, "for": {"uid": "1", "flavors": {}}}
    )
}
BY_QUOTREE = "annotations under quotree.dev/ are written by Quotree alone"
LABEL = "the label quotree.dev/unit is written by Quotree alone"
AS_OPERATOR = ("--as", OPERATOR, "--as-group", "system:masters")
AS_JOB_CONTROLLER = ("--as", "system:serviceaccount:kube-system:job-controller", "--as-group", "system:masters")
GADGETS = "/apis/gadgets.example.com/v1/namespaces/{}/gadgets"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def policed(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdmissionSetup]:
    """The policy alone, with gadgets governed."""
    with cluster.start(control_plane_binaries, nodes=[]) as control_plane:
        admission = AdmissionSetup(control_plane, Path(tmp_path_factory.mktemp("policy")))
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **DEFINITION}
        control_plane.apply(json.dumps(definition))
        kinds = json.dumps([DESCRIPTOR])
        wishes = ("-n", "quotree-system", "--set", f"reconciler.user={RECONCILER}", "--set-json", f"kinds={kinds}")
        shown = ("--show-only", "templates/policies/reserved-names.yaml")
        for each in yaml.load_all(
            control_plane.helm("template", "quotree", str(CHART), *wishes, *shown).stdout, Loader=yaml.CSafeLoader
        ):
            control_plane.apply(yaml.safe_dump(each))
        probe = job_body("probe", None, notes=FORGED)
        wait_for(lambda: admission.try_job(probe)[0] == 403, "the policy is in force")
        wait_for(lambda: admission.get(GADGETS.format("default"))[0] == 200, "gadgets are served")
        yield admission
        admission.close()


def create(policed: AdmissionSetup, body: Any, *who: str, namespace: str = "default") -> str:
    arguments = ("create", "-n", namespace, "-f", "-", *who)
    return words(policed.control_plane.kubectl(*arguments, input=json.dumps(body), check=False))


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def job(name: str, *, template: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    body = job_body(name, None, suspend=True)
    # Without a label of its own a Job gets those of its template.
    body["metadata"] = {"name": name, **metadata, "labels": {"app": name, **metadata.get("labels", {})}}
    body["spec"]["template"]["metadata"] = template or {}
    return body


def gadget(name: str, *, template: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    one = part()
    one["template"]["metadata"] = template or {}
    api = {"apiVersion": "gadgets.example.com/v1", "kind": "Gadget"}
    return {**api, "metadata": {"name": name, **metadata}, "spec": {"control": {"paused": True}, "parts": {"a": one}}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "admission of a Job": (job("forged", annotations=FORGED), BY_QUOTREE),
    "eviction with a claim": (job("forged", annotations=EVICTED), BY_QUOTREE),
    "unknown annotation": (job("forged", annotations={"quotree.dev/later": "1"}), BY_QUOTREE),
    "place in the queue": (job("forged", annotations={"quotree.dev/requeue": "{}"}), BY_QUOTREE),
    "unit of a Job": (job("forged", labels=UNIT), LABEL),
    "annotation in a template": (job("forged", template={"annotations": FORGED}), "pod templates have no annotations"),
    "unit in a template": (job("forged", template={"labels": UNIT}), "the label quotree.dev/unit of a pod template"),
    "admission of a pod": (pod("forged", annotations=FORGED), BY_QUOTREE),
    "unit of a pod": (pod("forged", labels=UNIT), LABEL),
    "admission of a governed kind": (gadget("forged", annotations=FORGED), BY_QUOTREE),
    "unit of a governed kind": (gadget("forged", labels=UNIT), LABEL),
    "annotation in its template": (gadget("forged", template={"annotations": FORGED}), "pod templates have no"),
    "unit in its template": (gadget("forged", template={"labels": UNIT}), "the label quotree.dev/unit of a pod"),
}


@pytest.mark.parametrize("namespace", ["default", "kube-system", "quotree-system"])
@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED)
def test_name_of_quotree_cannot_be_written_at_creation(
    policed: AdmissionSetup, body: dict[str, Any], message: str, namespace: str
) -> None:
    policed.control_plane.kubectl("create", "namespace", "quotree-system", check=False)
    assert message in create(policed, body, namespace=namespace)


@pytest.mark.parametrize("case", REFUSED)
def test_name_of_quotree_cannot_be_added_later(policed: AdmissionSetup, case: str) -> None:
    body, message = REFUSED[case]
    kind, name = body["kind"], f"plain-{list(REFUSED).index(case)}"
    assert create(policed, {"Pod": pod, "Job": job, "Gadget": gadget}[kind](name)).endswith("created")
    change: dict[str, Any] = {"metadata": {"annotations": body["metadata"].get("annotations", {})}}
    change["metadata"]["labels"] = body["metadata"].get("labels", {})
    if kind == "Job":
        change["spec"] = {"template": {"metadata": body["spec"]["template"]["metadata"]}}
    if kind == "Gadget":
        change["spec"] = {"parts": body["spec"]["parts"]}
    assert message in patch(policed, kind.lower(), name, change)


def test_reconciler_writes_them_and_others_leave_them_as_they_are(policed: AdmissionSetup) -> None:
    for kind, body in (("job", job("started")), ("gadget", gadget("started"))):
        assert create(policed, body).endswith("created")
        written = {"metadata": {"annotations": FORGED, "labels": UNIT}}
        assert patch(policed, kind, "started", written, *AS_RECONCILER).endswith("patched")
        assert patch(policed, kind, "started", {"metadata": {"labels": {"mine": "yes"}}}).endswith("patched")
        changed = {"metadata": {"annotations": {ADMISSION: admitted("a100")}}}
        assert BY_QUOTREE in patch(policed, kind, "started", changed)
        assert LABEL in patch(policed, kind, "started", {"metadata": {"labels": {"quotree.dev/unit": "another"}}})


def test_templates_keep_what_a_start_has_written(policed: AdmissionSetup) -> None:
    assert create(policed, gadget("labelled")).endswith("created")
    written = {"spec": {"parts": {"a": {"template": {"metadata": {"labels": UNIT}}}}}}
    assert patch(policed, "gadget", "labelled", written, *AS_RECONCILER).endswith("patched")
    harmless = {"spec": {"parts": {"a": {"template": {"metadata": {"labels": {"app": "x"}}}}}}}
    assert patch(policed, "gadget", "labelled", harmless).endswith("patched")
    other = {"spec": {"parts": {"a": {"template": {"metadata": {"labels": {"quotree.dev/unit": "another"}}}}}}}
    assert "of a pod template is written by Quotree alone" in patch(policed, "gadget", "labelled", other)


def owned_by(kind: str, api: str, **more: bool) -> list[dict[str, Any]]:
    return [{"apiVersion": api, "kind": kind, "name": "owner", "uid": "0a1b", **more}]


def test_operators_copy_annotations_to_what_they_make_for_a_governed_object(policed: AdmissionSetup) -> None:
    governed = owned_by("Gadget", "gadgets.example.com/v1", controller=True)
    copies = [job("child", annotations=FORGED, ownerReferences=governed)]
    copies.append(pod("child", annotations=FORGED, ownerReferences=governed))
    copies.append(gadget("child", annotations=FORGED, ownerReferences=governed))
    for each in copies:
        assert BY_QUOTREE in create(policed, each), "anyone can name an owner"
        assert create(policed, each, *AS_OPERATOR).endswith("created")
    for index, owners in enumerate(
        (
            owned_by("Gadget", "gadgets.example.com/v1"),
            owned_by("Gadget", "widgets.example.com/v1", controller=True),
            owned_by("Job", "batch/v1", controller=True),
        )
    ):
        forged = job(f"not-{index}", annotations=FORGED, ownerReferences=owners)
        assert BY_QUOTREE in create(policed, forged, *AS_OPERATOR)


def test_operators_and_the_job_controller_copy_the_label_and_nothing_else(policed: AdmissionSetup) -> None:
    assert create(policed, job("made", labels=UNIT, template={"labels": UNIT}), *AS_OPERATOR).endswith("created")
    assert create(policed, pod("made", labels=UNIT), *AS_JOB_CONTROLLER).endswith("created")
    assert BY_QUOTREE in create(policed, pod("copied", labels=UNIT, annotations=FORGED), *AS_JOB_CONTROLLER)
    assert BY_QUOTREE in create(policed, job("copied", annotations=FORGED), *AS_OPERATOR)


def test_webhooks_own_annotations_are_left_to_it_where_it_judges(policed: AdmissionSetup) -> None:
    group = {"quotree.dev/group": "vision"}
    placed = {"quotree.dev/injected": "{}"}
    assert create(policed, job("placed", labels=group, annotations=placed)).endswith("created")
    assert BY_QUOTREE in create(policed, job("placed", labels=group, annotations=placed), namespace="kube-system")
    assert BY_QUOTREE in create(policed, job("elsewhere", labels=group, annotations=FORGED))


def test_ones_own_name_is_the_only_user_that_can_be_written(policed: AdmissionSetup) -> None:
    group, me = {"quotree.dev/group": "vision"}, ("--as", "ann", "--as-group", "system:masters")
    own, others = {"quotree.dev/user": "ann"}, {"quotree.dev/user": "bob"}
    assert create(policed, job("own", labels=group, annotations=own), *me).endswith("created")
    assert create(policed, pod("own", labels=group, annotations=own), *me).endswith("created")
    assert BY_QUOTREE in create(policed, job("other", labels=group, annotations=others), *me)
    assert BY_QUOTREE in create(policed, pod("unmanaged", annotations=own), *me)
    changed = policed.control_plane.kubectl(
        "annotate", "--overwrite", "job/own", "quotree.dev/user=bob", *me, check=False
    )
    assert BY_QUOTREE in words(changed)


def test_object_full_of_other_annotations_is_judged(policed: AdmissionSetup) -> None:
    many = {f"{number:x}": "" for number in range(30_000)}
    assert create(policed, pod("many", annotations=many)) == "pod/many created"
    assert BY_QUOTREE in create(policed, pod("forged", annotations={**many, **FORGED}))
