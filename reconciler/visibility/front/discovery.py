"""Discovery documents in both forms, and OpenAPI for `kubectl explain`. Pure."""

from typing import Final

from reconciler.visibility.objects.kinds import ALL_KINDS, API_VERSION, GROUP, KINDS, VERSION, VisibleKind
from shared.json_data import Json

_AGGREGATED: Final = "apidiscovery.k8s.io"
_GROUP_KIND: Final = "x-kubernetes-group-version-kind"
_REFERENCE: Final = "dev.quotree.visibility.v1alpha1."
OPENAPI_PATH: Final = f"apis/{API_VERSION}"


def discovery_document(path: str, accept: str) -> Json | None:
    """Return the document at the path; None if there is none."""
    if path == "/apis":
        version = _aggregated_version(accept)
        return (
            aggregated_groups(version)
            if version
            else {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}
        )
    if path == f"/apis/{GROUP}":
        return {"kind": "APIGroup", "apiVersion": "v1", **_group()}
    if path == f"/apis/{API_VERSION}":
        return _resources()
    if path == "/openapi/v2":
        return openapi_v2()
    if path == "/openapi/v3":
        return {"paths": {OPENAPI_PATH: {"serverRelativeURL": f"/openapi/v3/{OPENAPI_PATH}"}}}
    if path == f"/openapi/v3/{OPENAPI_PATH}":
        return openapi_v3()
    return None


def content_type(document: Json) -> str:
    """Return the Content-Type of a discovery document."""
    version = document.get("apiVersion", "")
    if not version.startswith(_AGGREGATED):
        return "application/json"
    return f"application/json;g={_AGGREGATED};v={version.partition('/')[2]};as=APIGroupDiscoveryList"


def _aggregated_version(accept: str) -> str:
    """Return the version of aggregated discovery that the client accepts; empty: none."""
    for form in accept.split(","):
        if "as=APIGroupDiscoveryList" in form and form.strip().startswith("application/json"):
            return "v2" if "v=v2;" in f"{form};" else "v2beta1"
    return ""


def _group() -> Json:
    version = {"groupVersion": API_VERSION, "version": VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def _resources() -> Json:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API_VERSION,
        "resources": [
            {
                "name": kind.plural,
                "singularName": kind.singular,
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                "verbs": list(kind.verbs),
                "shortNames": [kind.short],
            }
            for kind in ALL_KINDS
        ],
    }


def aggregated_groups(version: str) -> Json:
    """Return all resources in one document, as newer clients request it."""
    resources = [
        {
            "resource": kind.plural,
            "responseKind": {"group": GROUP, "version": VERSION, "kind": kind.kind},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": kind.singular,
            "shortNames": [kind.short],
            "verbs": list(kind.verbs),
        }
        for kind in ALL_KINDS
    ]
    versions = [{"version": VERSION, "resources": resources, "freshness": "Current"}]
    group = {"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": versions}
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{_AGGREGATED}/{version}",
        "metadata": {},
        "items": [group],
    }


def openapi_v3() -> Json:
    """Return the schemas of all kinds, and the paths that return them."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "Quotree visibility", "version": VERSION},
        "paths": {path: {"get": _operation(kind, verb, "v3")} for kind in KINDS for path, verb in _paths(kind)},
        "components": {"schemas": _schemas()},
    }


def openapi_v2() -> Json:
    """Return the same for older clients."""
    return {
        "swagger": "2.0",
        "info": {"title": "Quotree visibility", "version": VERSION},
        "paths": {path: {"get": _operation(kind, verb, "v2")} for kind in KINDS for path, verb in _paths(kind)},
        "definitions": _schemas(),
    }


def _paths(kind: VisibleKind) -> list[tuple[str, str]]:
    base = f"/apis/{API_VERSION}/"
    where = f"{base}namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}{kind.plural}"
    return [(where, "list"), (f"{where}/{{name}}", "get")]


def _operation(kind: VisibleKind, verb: str, form: str) -> Json:
    schema = {"$ref": f"#/{'components/schemas' if form == 'v3' else 'definitions'}/{_REFERENCE}{kind.kind}"}
    content = {"content": {"application/json": {"schema": schema}}} if form == "v3" else {"schema": schema}
    names = [*(["name"] if verb == "get" else []), *(["namespace"] if kind.namespaced else [])]
    typed: Json = {"schema": {"type": "string"}} if form == "v3" else {"type": "string"}
    return {
        "description": f"{verb} objects of the kind {kind.kind}",
        "operationId": f"{verb}VisibilityV1alpha1{kind.kind}",
        "parameters": [{"name": name, "in": "path", "required": True, **typed} for name in names],
        "responses": {"200": {"description": "OK", **content}},
        "x-kubernetes-action": verb,
        _GROUP_KIND: {"group": GROUP, "version": VERSION, "kind": kind.kind},
    }


def _schemas() -> Json:
    return {f"{_REFERENCE}{kind.kind}": _schema(kind) for kind in ALL_KINDS}


def _schema(kind: VisibleKind) -> Json:
    return {
        "type": "object",
        "description": kind.text,
        "properties": {
            "apiVersion": {"type": "string", "description": f"Always {API_VERSION}."},
            "kind": {"type": "string", "description": f"Always {kind.kind}."},
            "metadata": {"type": "object", "description": "Standard object's metadata."},
            "status": kind.status,
        },
        _GROUP_KIND: [{"group": GROUP, "version": VERSION, "kind": kind.kind}],
    }
