"""Every rule about trees through a real API server and a webhook process: accepted just below, refused just above."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.api.json.reading import write_moment
from shared.api.names import API_VERSION, IN_USE
from tests.preloaded import Preloaded
from tests.shared.quota.model.rules.test_tree_rules import CASES, WARNINGS, Case
from tests.trees import GPU, group
from tests.webhook.group_lines import GROUPS, MERGE, apply, ask, ask_in_every_way, body_of, denied, store
from tests.webhook.rolling.balancer import PortBalancer
from tests.webhook.rolling.replicas import EDITS, Replicas, wait_for

pytestmark = pytest.mark.timeout(900)
FLAVORS = f"/apis/{API_VERSION}/resourceflavors"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
STORED_ILLEGAL = "not below a circle"
OF_CAPACITY = {"amounts below a percent", "a percent min and an amount as max"}
"""What is refused only where root's capacity is known: it is in the status that a reconciler writes."""


@pytest.fixture(scope="module")
def one_replica(
    plain_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[Replicas]:
    with PortBalancer().running() as balancer:
        folder, quota = tmp_path_factory.mktemp("replica"), {"maxDepth": 4}
        made = Replicas(plain_control_plane, folder, balancer, quota=quota, preloaded=preloaded)
        try:
            made.install()
            made.clear()
            for name in ("a100", "t4"):
                body = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}
                plain_control_plane.rest.request("POST", FLAVORS, body)
            made.start(1)
            yield made
        finally:
            made.stop()


@pytest.fixture
def control_plane(one_replica: Replicas) -> Iterator[ControlPlane]:
    """An API server that asks the webhook; groups and Jobs of a test are gone after it."""
    yield one_replica.control_plane
    one_replica.remove()
    one_replica.empty(JOBS, GROUPS, EDITS)
    one_replica.use(0)


@pytest.mark.parametrize("case", [case for name, case in CASES.items() if name not in {STORED_ILLEGAL, *OF_CAPACITY}])
def test_edit_is_accepted_at_each_limit_and_refused_beyond(control_plane: ControlPlane, case: Case) -> None:
    store(control_plane, case.before)
    answers = ask_in_every_way(control_plane, case.refused)
    assert answers == dict.fromkeys(answers, denied(case.text))
    code, message = ask(control_plane, case.accepted, dry_run=False)
    assert (code in (200, 201), message) == (True, "")


def test_warnings_are_printed_by_kubectl(control_plane: ControlPlane) -> None:
    for name in ("an absent parent", "an absent flavor", "a weight on some siblings"):
        case = WARNINGS[name]
        store(control_plane, case.before)
        done = control_plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(body_of(group(case.edit))))
        control_plane.kubectl("delete", "qg", "--all")
        assert done.stderr.strip() == f"Warning: {case.text}"


def test_update_by_apply_edit_and_patch_is_reviewed(control_plane: ControlPlane) -> None:
    store(control_plane, "p/ 8\n  a 6")
    text = denied(CASES["the parent's min lowered"].text)[1]
    lowered = json.dumps({"spec": {"quotas": [{"flavor": "default", "min": {"gpu": 5}}]}})
    for kind in ("merge", "json"):
        patch = lowered if kind == "merge" else '[{"op": "replace", "path": "/spec/quotas/0/min/gpu", "value": 5}]'
        done = control_plane.kubectl("patch", "qg", "p", f"--type={kind}", "-p", patch, check=False)
        assert text in done.stderr
    body = {**body_of(group("p/ 5")), "metadata": {"name": "p"}}
    for arguments in (("apply",), ("apply", "--server-side", "--force-conflicts"), ("replace",)):
        done = control_plane.kubectl(*arguments, "-f", "-", input=json.dumps(body), check=False)
        assert text in done.stderr


def test_group_with_children_or_workloads_can_be_neither_deleted_nor_converted(control_plane: ControlPlane) -> None:
    store(control_plane, "p/ 8\n  a 6")
    assert (
        control_plane.rest.request("DELETE", f"{GROUPS}/p")[1]["message"]
        == denied(
            "QuotaGroup 'p': cannot be deleted while it holds 1 group (a); move or delete them first "
            "(DeletedWithChildren)"
        )[1]
    )
    container = {"name": "main", "image": "none"}
    job = {
        "metadata": {"name": "work", "labels": {"quotree.dev/group": "a"}},
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    assert control_plane.rest.request("POST", JOBS, job)[0] == 201
    deleted = denied(
        "QuotaGroup 'a': cannot be deleted while it holds workloads (1 pending, 0 running); "
        "finish or move them first (DeletedWithWork)"
    )
    turned = denied(
        "QuotaGroup 'a' spec.isParent: still holds workloads (1 pending, 0 running); "
        "finish or move them first (TurnedWithWork)"
    )
    wait_until_refused(control_plane, deleted[1])
    assert ask(control_plane, "a/ 6 ^p") == turned
    control_plane.kubectl("delete", "job", "work", "-n", "default", "--wait=true")
    # The next test has a group of this name, and must find it without workloads.
    wait_for(lambda: ask(control_plane, "a/ 6 ^p") == (200, ""), lambda: "the Job is seen to be gone")


def test_deletion_with_the_finalizer_is_accepted_and_judged_when_the_finalizer_is_taken_off(
    control_plane: ControlPlane,
) -> None:
    parent, leaf, built_in = (
        body_of(drawn) | {"metadata": {"name": drawn.name, "finalizers": [IN_USE]}}
        for drawn in (group("p/ 8"), group("a 6 ^p"), group("default"))
    )
    for each in (parent, leaf, built_in):
        assert apply(control_plane, each)[0] == 201
    assert control_plane.rest.request("DELETE", f"{GROUPS}/default")[1]["message"].endswith("(BuiltInDeleted)")
    assert control_plane.rest.request("DELETE", f"{GROUPS}/p")[0] == 200
    refused = taken_off(control_plane, "p")
    assert refused[1].endswith(
        "QuotaGroup 'p': cannot be deleted while it holds 1 group (a); move or delete them first (DeletedWithChildren)"
    )
    assert ask(control_plane, "a/ 6 ^p") == (200, "")  # what it holds is edited as before
    assert control_plane.rest.request("DELETE", f"{GROUPS}/a")[0] == 200
    assert taken_off(control_plane, "a") == (200, "")
    assert taken_off(control_plane, "p") == (200, "")
    assert [control_plane.rest.request("GET", f"{GROUPS}/{name}")[0] for name in "pa"] == [404, 404]
    assert taken_off(control_plane, "default") == (200, "")


def test_flavor_with_the_finalizer_goes_when_no_group_uses_it(control_plane: ControlPlane) -> None:
    metadata = {"name": "kept", "finalizers": [IN_USE]}
    made = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": metadata, "spec": {}}
    assert control_plane.rest.request("POST", FLAVORS, made)[0] == 201
    store(control_plane, "a kept:gpu 6")
    assert control_plane.rest.request("DELETE", f"{FLAVORS}/kept")[0] == 200
    assert taken_off(control_plane, "kept", FLAVORS)[1].endswith("(FlavorInUse)")
    assert control_plane.rest.request("DELETE", f"{GROUPS}/a")[0] == 200
    assert taken_off(control_plane, "kept", FLAVORS) == (200, "")
    assert control_plane.rest.request("GET", f"{FLAVORS}/kept")[0] == 404


def taken_off(control_plane: ControlPlane, name: str, collection: str = GROUPS) -> tuple[int, str]:
    body = {"metadata": {"finalizers": None}}
    code, answer = control_plane.rest.request("PATCH", f"{collection}/{name}", body, MERGE)
    return code, "" if code == 200 else answer["message"]


def wait_until_refused(control_plane: ControlPlane, text: str) -> None:
    """The watch of Jobs lags a little."""
    messages: list[str] = []

    def refused() -> bool:
        messages.append(str(control_plane.rest.request("DELETE", f"{GROUPS}/a?dryRun=All")[1].get("message")))
        return messages[-1] == text

    wait_for(refused, lambda: messages[-1])


def test_group_with_children_cannot_become_a_leaf(control_plane: ControlPlane) -> None:
    store(control_plane, "p/ 8\n  a 6")
    message = "QuotaGroup 'p' spec.isParent: still holds 1 group (a); move or delete them first (TurnedWithChildren)"
    answers = ask_in_every_way(control_plane, "p 8")
    assert {way: (code, text.split("\n")[0]) for way, (code, text) in answers.items()} == dict.fromkeys(
        answers, denied(message)
    )
    control_plane.kubectl("delete", "qg", "a")
    assert ask(control_plane, "p 8", dry_run=False) == (200, "")


def test_status_of_a_group_decides_about_warnings(control_plane: ControlPlane) -> None:
    store(control_plane, "a 4\nb 4")
    root = {**body_of(group("a")), "metadata": {"name": "root"}, "spec": {"isParent": True}}
    assert control_plane.rest.request("POST", GROUPS, root)[0] == 201
    statuses = {"root": {"capacity": {"gpu": "8"}}, "a": {"nonPreemptible": {"gpu": "3"}}}
    for name, amounts in statuses.items():
        status = {"status": {"quotas": [{"flavor": "default", **amounts}]}}
        assert control_plane.rest.request("PATCH", f"{GROUPS}/{name}/status", status, content_type=MERGE)[0] == 200
    lowered = (
        "Warning: QuotaGroup 'a' spec.quotas: min of default/gpu is lowered to 2, workloads that are not preemptible "
        "use 3: they continue, and no more of them start until they use less than min (MinBelowNonPreemptible)"
    )
    raised = (
        "Warning: QuotaGroup 'root' spec.quotas: the first level is promised 9 of default/gpu, capacity is 8; "
        "mins are scaled down while demand exceeds it (FirstLevelAboveCapacity)"
    )
    wait_until_reported(control_plane, "a 2", lowered)
    wait_until_reported(control_plane, "b 5", raised)
    assert (warned_of(control_plane, "a 3"), warned_of(control_plane, "b 4")) == ("", "")


def warned_of(control_plane: ControlPlane, line: str) -> str:
    """What kubectl prints beside its answer to a server-side apply that is only tried."""
    tried = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
    return control_plane.kubectl(*tried, input=json.dumps(body_of(group(line)))).stderr.strip()


def wait_until_reported(control_plane: ControlPlane, line: str, text: str) -> None:
    """The watch of groups lags a little."""
    messages: list[str] = []

    def warned() -> bool:
        messages.append(warned_of(control_plane, line))
        return messages[-1] == text

    wait_for(warned, lambda: messages[-1])


def test_unlabelled_flavor_next_to_open_ones_is_warned_of(control_plane: ControlPlane) -> None:
    body = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": "h100"}}
    taint = {"key": "h100", "effect": "NoSchedule"}
    for taints, warned in (([taint], []), ([], ["a100", "t4"])):
        labelled = {**body, "spec": {"nodeLabels": {"model": "h100"}, "nodeTaints": taints}}
        message = control_plane.kubectl("create", "-f", "-", input=json.dumps(labelled)).stderr.splitlines()
        control_plane.kubectl("delete", "rf", "h100")
        assert message == [
            (
                f"Warning: ResourceFlavor '{name}' spec.nodeLabels: has no nodeLabels, and the nodes of h100 have no "
                f"taint: workloads of {name} might run on them; taint those nodes, "
                f"or give {name} a label (UnlabelledFlavor)"
            )
            for name in warned
        ]


def test_built_in_groups_cannot_be_deleted(control_plane: ControlPlane) -> None:
    for name, is_parent in (("root", True), ("system", False), ("default", False)):
        body = {**body_of(group("a")), "metadata": {"name": name}, "spec": {"isParent": is_parent}}
        assert control_plane.rest.request("POST", GROUPS, body)[0] == 201
        message = control_plane.rest.request("DELETE", f"{GROUPS}/{name}")[1]["message"]
        assert (
            message
            == denied(
                f"QuotaGroup '{name}': is one of the three groups every cluster has; it cannot be deleted "
                "(BuiltInDeleted)"
            )[1]
        )
    held = control_plane.rest.request("PATCH", f"{GROUPS}/system", {"spec": {"stopPolicy": "Hold"}}, content_type=MERGE)
    assert (
        held[1]["message"]
        == denied(
            "QuotaGroup 'system' spec: system is never limited and never recycled; none of its fields may be edited "
            "(SystemLocked)"
        )[1]
    )


def test_flavor_in_use_cannot_be_deleted(control_plane: ControlPlane) -> None:
    store(control_plane, "a a100:gpu 1")
    code, message = control_plane.rest.request("DELETE", f"{FLAVORS}/a100")
    assert (code, message["message"]) == (
        422,
        (
            "admission webhook \"resourceflavors.quotree.dev\" denied the request: ResourceFlavor 'a100': "
            "cannot be deleted while groups use it (a); take its entries out of them first (FlavorInUse)"
        ),
    )


def test_tree_stored_without_the_webhook_can_be_fixed_step_by_step(
    control_plane: ControlPlane, one_replica: Replicas
) -> None:
    one_replica.remove()
    for line in ("p/ 8", "a 6 ^p", "b 6 ^p", "q/ 4"):
        assert control_plane.rest.request("POST", GROUPS, body_of(group(line)))[0] == 201
    one_replica.use(0)
    assert ask(control_plane, "b 7 ^p")[0] == 422
    for line in ("c 4 ^q", "a 5 ^p", "b 3 ^p"):
        assert ask(control_plane, line, dry_run=False)[0] in (200, 201)
    assert ask(control_plane, "b 4 ^p")[0] == 422


def test_group_created_and_deleted_while_the_webhook_hears_nothing_is_forgotten(
    control_plane: ControlPlane, one_replica: Replicas
) -> None:
    """One read of the watch then shows both; a group that only the webhook still knows would be a leaf's child."""
    one_replica.remove()
    with one_replica.paused(0):
        store(control_plane, "late/ ^a")
        assert control_plane.rest.request("DELETE", f"{GROUPS}/late")[0] == 200
    one_replica.use(0)
    store(control_plane, "b 5\na 3")


def test_one_leaf_with_more_moments_than_are_judged_is_refused_and_stops_no_sibling(
    control_plane: ControlPlane,
) -> None:
    """Its windows, open together in hundreds of ways, are legal; a sibling's are judged without them."""
    store(control_plane, "root 20\n  p/ 7\n    a 3\n    b 3")
    now = datetime.now(UTC)
    harmless = {"quotas": [{"weight": {GPU: 1}}]}
    windows = [
        {"schedule": f"{each} */{each + 6} * * *", "duration": f"{180 + 7 * each}m", **harmless} for each in range(8)
    ]
    overrides = [
        {
            "from": write_moment(now + timedelta(days=1 + 12 * each)),
            "until": write_moment(now + timedelta(days=13 + 12 * each)),
            **harmless,
        }
        for each in range(31)
    ]

    def edit(name: str, **spec: object) -> tuple[int, str]:
        code, answer = control_plane.rest.request("PATCH", f"{GROUPS}/{name}", {"spec": spec}, MERGE)
        return code, str(answer.get("message", ""))

    code, message = edit("a", windows=windows, overrides=overrides)
    assert (code, "more than 1000 ways" in message, "(TooManyMoments)" in message) == (422, True, True)
    assert edit("a", windows=windows, overrides=overrides[:18]) == (200, "")
    assert edit("b", windows=windows[-3:], overrides=overrides[18:]) == (200, "")
    assert edit("b", windows=[{**windows[0], "quotas": [{"min": {GPU: 5}}]}])[0] == 422
