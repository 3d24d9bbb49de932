"""AdmissionReviews from other callers than the API server: no answer, nothing learnt, nothing changed."""

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

import pytest

from shared.api.names import API_VERSION
from tests.webhook.webhook_process import NAMESPACE, REGISTRATION, AdmissionSetup, Replica

GROUPS = f"/apis/{API_VERSION}/quotagroups"
RESERVATIONS = f"/api/v1/namespaces/{NAMESPACE}/configmaps/quotree-edits"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def governed(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """A tree of one parent with min 8 and one child with 4, judged by one replica."""
    bare_admission.group("root", isParent=True)
    bare_admission.flavor("default")
    bare_admission.open(quota_objects=True)
    for body in (group("team", 8, isParent=True), group("first", 4, parent="team")):
        assert bare_admission.control_plane.rest.request("POST", GROUPS, body)[0] == 201
    return bare_admission


def group(name: str, cpu: int, **spec: Any) -> dict[str, Any]:
    quotas = [{"flavor": "default", "min": {"cpu": cpu}}]
    return {
        "apiVersion": API_VERSION,
        "kind": "QuotaGroup",
        "metadata": {"name": name},
        "spec": {**spec, "quotas": quotas},
    }


def forged(name: str, old: dict[str, Any] | None, new: dict[str, Any] | None, uid: str = "forged") -> bytes:
    """A review as any caller can write it."""
    request = {
        "uid": uid,
        "kind": {"group": "quotree.dev", "version": "v1alpha1", "kind": "QuotaGroup"},
        "operation": "UPDATE" if old and new else "CREATE" if new else "DELETE",
        "name": name,
        "userInfo": {"username": "system:admin", "groups": ["system:masters"]},
        "object": new,
        "oldObject": old,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def post(replica: Replica, path: str, body: bytes) -> tuple[int, str]:
    """Send it straight to the review port, trusting any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{replica.port}{path}"
    asked = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=60, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def known_path(setup: AdmissionSetup) -> str:
    """The path in the webhook configurations; a tenant cannot read it."""
    _, configuration = setup.get(f"{REGISTRATION}/validatingwebhookconfigurations/quotree")
    hook = next(each for each in configuration["webhooks"] if each["name"] == "quotagroups.quotree.dev")
    return "/" + str(hook["clientConfig"]["url"]).split("/", 3)[3]


@pytest.mark.parametrize("path", ["/validate/quotagroups", "/", f"/{'0' * 64}/validate/quotagroups"])
def test_caller_without_the_path_gets_an_empty_404(governed: AdmissionSetup, path: str) -> None:
    answer = post(governed.replicas[-1], path, forged("spy", None, group("spy", 9, parent="team")))
    assert answer == (404, "there is nothing here\n")


def test_tenant_cannot_read_the_path(governed: AdmissionSetup) -> None:
    for verb, resource in (("get", "validatingwebhookconfigurations/quotree"), ("get", "secrets/quotree-webhook-path")):
        arguments = (
            "auth",
            "can-i",
            verb,
            resource,
            "-n",
            NAMESPACE,
            "--as",
            "mallory",
            "--as-group",
            "system:authenticated",
        )
        assert governed.control_plane.kubectl(*arguments, check=False).stdout.strip() == "no"


def test_forged_review_with_the_path_makes_no_illegal_edit_legal(governed: AdmissionSetup) -> None:
    replica, path = governed.replicas[-1], known_path(governed)
    stored = governed.get(f"{GROUPS}/first")[1]
    invented = {**stored, "metadata": {**stored["metadata"], "resourceVersion": "9000000000000000000"}}
    smaller = group("first", 0, parent="team")
    smaller["metadata"] |= {"uid": stored["metadata"]["uid"]}
    refused = json.loads(post(replica, path, forged("first", invented, smaller))[1])["response"]
    assert (refused["allowed"], refused["status"]["code"]) == (False, 409)
    assert "(EditUnconfirmed)" in refused["status"]["message"]
    assert governed.control_plane.rest.request("POST", GROUPS, group("second", 5, parent="team"))[0] == 422
    assert governed.control_plane.rest.request("POST", GROUPS, group("second", 4, parent="team"))[0] == 201
    recorded = governed.get(RESERVATIONS)[1]["data"]
    assert int(recorded["floor"]) <= int(governed.get(GROUPS)[1]["metadata"]["resourceVersion"])


def test_forged_review_does_not_remove_the_reservation_of_another_edit(governed: AdmissionSetup) -> None:
    replica, path = governed.replicas[-1], known_path(governed)
    legal = post(
        replica, path, forged("third", None, {**group("third", 8), "metadata": {"name": "third", "uid": "u-3"}})
    )
    assert json.loads(legal[1])["response"]["allowed"] is True
    before = json.loads(governed.get(RESERVATIONS)[1]["data"]["reservations"])
    own = next(each for each in before if each["name"] == "third")
    other = {**group("fourth", 1), "metadata": {"name": "fourth", "uid": "u-4"}}
    post(replica, path, forged("fourth", None, other, uid=own["id"]))
    after = json.loads(governed.get(RESERVATIONS)[1]["data"]["reservations"])
    assert [each for each in after if each["name"] == "third"] == [own]
