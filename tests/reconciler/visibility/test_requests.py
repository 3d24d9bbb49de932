"""Paths, queries and headers of the visibility API: what is understood, and who is answered."""

import pytest

from reconciler.visibility.front.callers import FrontProxy, read_front_proxy, refusal, sharer_of
from reconciler.visibility.front.requests import BadRequest, ReadRequest, read_request
from reconciler.visibility.objects.kinds import EXPLANATION, GROUPS, PENDING, VisibleKind

BASE = "/apis/visibility.quotree.dev/v1alpha1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def ask(path: str, accept: str = "application/json", **query: str) -> ReadRequest:
    found = read_request(BASE + path, query, accept)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "kind", "namespace", "name"),
    [
        ("/pendingworkloads", PENDING, "", ""),
        ("/namespaces/team/pendingworkloads", PENDING, "team", ""),
        ("/namespaces/team/explanations/train-7", EXPLANATION, "team", "train-7"),
        ("/groupexplanations/vision", GROUPS, "", "vision"),
    ],
)
def test_path_is_parsed_into_kind_namespace_and_object(path: str, kind: VisibleKind, namespace: str, name: str) -> None:
    found = ask(path)
    selected = found.selection
    assert (selected.kind, selected.namespace, selected.name, found.is_get) == (kind, namespace, name, bool(name))


@pytest.mark.parametrize(
    "path",
    [
        "/jobs",
        "/pendingworkloads/train-7",
        "/namespaces/team/groupexplanations",
        "/namespaces/team/pendingworkloads/train-7/status",
        "/namespaces/team",
        "/namespaces/team/../other/pendingworkloads",
        "/namespaces//other/pendingworkloads",
    ],
)
def test_invalid_path_is_not_found(path: str) -> None:
    assert read_request(BASE + path, {}, "*/*") is None


def test_name_is_used_as_the_api_server_sends_it() -> None:
    assert ask("/namespaces/team/explanations/train%2D7").selection.name == "train%2D7"


@pytest.mark.parametrize(
    ("selector", "taken"),
    [
        ("", {"vision", "nlp", "ml"}),
        ("quotree.dev/group=vision", {"vision"}),
        ("quotree.dev/group in (vision, nlp)", {"vision", "nlp"}),
        ("quotree.dev/group!=vision", {"nlp", "ml"}),
        ("quotree.dev/group notin (vision,nlp)", {"ml"}),
        ("quotree.dev/group in (vision,nlp),quotree.dev/group!=nlp", {"vision"}),
        ("quotree.dev/group", {"vision", "nlp", "ml"}),
    ],
)
def test_label_selector_selects_groups(selector: str, taken: set[str]) -> None:
    selection = ask("/pendingworkloads", labelSelector=selector).selection
    assert {each for each in ("vision", "nlp", "ml") if selection.takes_group(each)} == taken


@pytest.mark.parametrize(
    "query",
    [
        {"labelSelector": "app=web"},
        {"labelSelector": "quotree.dev/group=(("},
        {"fieldSelector": "spec.x=1"},
        {"fieldSelector": "metadata.name!=a"},
        {"fieldSelector": "metadata.name=a,metadata.name=b"},
        {"limit": "many"},
        {"continue": "-1"},
        {"timeoutSeconds": "9" * 40},
    ],
)
def test_invalid_query_is_a_bad_request(query: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        ask("/pendingworkloads", **query)


def test_kubectl_gets_a_table_and_protobuf_only_is_refused() -> None:
    assert ask("/pendingworkloads", TABLE).as_table
    assert not ask("/pendingworkloads", "application/vnd.kubernetes.protobuf,application/json").as_table
    with pytest.raises(BadRequest) as refused:
        ask("/pendingworkloads", "application/vnd.kubernetes.protobuf")
    assert refused.value.code == 406


PROXY = FrontProxy("ca", ("front-proxy-client",))
USER = {"X-Remote-User": "alice"}


def certificate(name: str) -> dict[str, object]:
    return {"subject": ((("organizationName", "x"),), (("commonName", name),))}


def test_only_the_front_proxy_is_served_and_only_for_a_user() -> None:
    assert refusal(PROXY, certificate("front-proxy-client"), USER) is None
    assert "no front-proxy certificate" in str(refusal(PROXY, None, USER))
    assert "none of the names" in str(refusal(PROXY, certificate("alice"), USER))
    assert "no user" in str(refusal(PROXY, certificate("front-proxy-client"), {}))
    assert refusal(FrontProxy("ca"), certificate("any"), USER) is None


def test_front_proxy_settings_are_read_from_the_config_map() -> None:
    published = {
        "requestheader-client-ca-file": "pem",
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-User"]',
    }
    assert read_front_proxy(published) == FrontProxy("pem", ("front-proxy-client",), ("X-User",))
    assert read_front_proxy({"client-ca-file": "pem"}) is None
    assert read_front_proxy(published | {"requestheader-allowed-names": "front"}) is None


@pytest.mark.parametrize(
    ("user", "sharer"),
    [
        ("alice", "alice"),
        ("system:serviceaccount:team-a:default", "system:serviceaccount:team-a"),
        ("system:serviceaccount:team-a:other", "system:serviceaccount:team-a"),
        ("system:kube-scheduler", "system:kube-scheduler"),
    ],
)
def test_service_accounts_of_a_namespace_share_a_bound(user: str, sharer: str) -> None:
    assert sharer_of(FrontProxy("ca"), {"X-Remote-User": user}) == sharer
